"""The pure scheduler: a frozen world goes in, a plan comes out. No framework, no clock, no disk."""
