// Swagger UI is dark when its page says so: the theme chosen on the other pages, or the system's.
const chosen = /(?:^|; )lockstep_theme=(light|dark)/.exec(document.cookie)?.[1];
const system = window.matchMedia("(prefers-color-scheme: dark)");
const apply = () => document.documentElement.classList.toggle("dark-mode", chosen ? chosen === "dark" : system.matches);
system.addEventListener("change", apply);
apply();
