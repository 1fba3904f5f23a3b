"""The teams of the demonstration: what they work on, who they are, and how much they ask for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Team:
    """`share` of all submitted GPU time; `tiers`: production, research, best effort, by jobs."""

    name: str
    share: float
    tiers: tuple[float, float, float]
    people: tuple[str, ...]
    projects: tuple[str, ...]
    datasets: tuple[tuple[str, float], ...]
    """(name, GB)"""


TEAMS = (
    Team(
        "vision",
        0.25,
        (0.15, 0.60, 0.25),
        ("researcher", "amara", "bo", "chen"),
        ("vit-huge", "sam-retrain", "detr-crowd", "video-mae"),
        (("imagenet-22k", 320.0), ("open-images-v7", 560.0), ("kinetics-700", 450.0)),
    ),
    Team(
        "speech",
        0.12,
        (0.20, 0.60, 0.20),
        ("dana", "emil", "fatima"),
        ("whisper-distil", "tts-multi", "asr-far-field"),
        (("common-voice-17", 90.0), ("librilight-60k", 350.0)),
    ),
    Team(
        "robotics",
        0.07,
        (0.05, 0.65, 0.30),
        ("goran", "hana"),
        ("grasp-rl", "world-model-s", "sim2real"),
        (("open-x-embodiment", 240.0), ("sim-rollouts-0425", 120.0)),
    ),
    Team(
        "language",
        0.42,
        (0.12, 0.55, 0.33),
        ("ines", "jonas", "keiko", "lars", "mina"),
        ("moe-30b", "base-7b", "instruct-7b", "long-context", "reward-model"),
        (("web-corpus-v5", 600.0), ("code-mix-v3", 280.0), ("dialogue-2m", 12.0)),
    ),
    Team(
        "science",
        0.14,
        (0.05, 0.60, 0.35),
        ("noor", "otto", "priya"),
        ("protein-fold", "weather-1h", "md-surrogate"),
        (("uniref50", 60.0), ("era5-025", 580.0)),
    ),
)
