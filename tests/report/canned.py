"""One frozen report that every format is tested with: each verdict, each status, hostile text."""

from __future__ import annotations

import math

from ropeaudit.facts import Fact, Location, Note, Origin
from ropeaudit.findings import Finding, Severity, Skipped, Status, Verdict
from ropeaudit.packs import Pack, Rule
from ropeaudit.schedule.core import Axis, Context, Schedule
from ropeaudit.schedule.families import default, llama3
from ropeaudit.schedule.families.interface import Inputs
from ropeaudit.schedule.float32 import f32s
from ropeaudit.schedule.subject import Problem, Subject
from ropeaudit.verdict import Report, SubjectReport

LLAMA3 = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
HOSTILE = "weights/[red]\x1b[31m`|*<b>\u202e.json"


def plain_schedule(base: float = 500000.0, dim: int = 128) -> Schedule:
    built = default.build(Inputs(rope_theta=base, rotary_dim=dim, head_dim=dim))
    return Schedule(
        rope_type="default",
        rope_theta=base,
        head_dim=dim,
        rotary_dim=dim,
        inv_freq=built.inv_freq,
        context=Context(trained=8192, declared=8192, assumed=True),
    )


def llama_schedule() -> Schedule:
    inputs = Inputs(rope_theta=500000.0, rotary_dim=128, head_dim=128, scaling=LLAMA3)
    built = llama3.build(inputs)
    place = Location(file="models/llama/config.json", pointer="/rope_theta", line=14)
    return Schedule(
        layers=tuple(range(32)),
        rope_type="llama3",
        rope_theta=500000.0,
        head_dim=128,
        rotary_dim=128,
        inv_freq=built.inv_freq,
        context=Context(trained=8192, declared=131072),
        provenance=(
            Fact("rope_theta", 500000.0, Origin.FILE, place),
            Fact("attention_scaling", 1.0, Origin.DEFAULT),
        ),
    )


def quantised_schedule() -> Schedule:
    whole = plain_schedule()
    step = whole.inv_freq[0] / 127
    return Schedule(
        variant="stored",
        rope_type="stored",
        rope_theta=None,
        head_dim=None,
        rotary_dim=128,
        inv_freq=tuple(f32s(round(v / step) * step for v in whole.inv_freq)),
        context=Context(trained=8192, declared=131072),
    )


def sliding_schedules() -> tuple[Schedule, ...]:
    local = plain_schedule(10000.0, 256)
    full = plain_schedule(1000000.0, 256)

    def layered(s: Schedule, kind: str, layers: tuple[int, ...], context: Context) -> Schedule:
        return Schedule(
            layer_type=kind, layers=layers, rope_type="default", rope_theta=s.rope_theta,
            head_dim=256, rotary_dim=256, inv_freq=s.inv_freq, context=context,
        )  # fmt: skip

    full_layers = (5, 11, 17)
    rest = tuple(k for k in range(18) if k not in full_layers)
    long = Context(trained=32768, declared=32768, assumed=True)
    return (
        layered(full, "full_attention", full_layers, long),
        layered(local, "sliding_attention", rest, Context(32768, 32768, True, 512)),
    )


def vision_schedule() -> Schedule:
    half = default.build(Inputs(rope_theta=10000.0, rotary_dim=40, head_dim=80)).inv_freq
    return Schedule(
        component="vision",
        rope_type="axial",
        rope_theta=10000.0,
        head_dim=80,
        rotary_dim=80,
        axes=(Axis("h", (0, 19)), Axis("w", (0, 19))),
        inv_freq=half,
    )


def _finding(rule: str, name: str, severity: Severity, message: str, **more: object) -> Finding:
    given = {
        "status": Status.FAIL, "schedule": "text", "evidence": {}, "location": None, "fix": None,
        "fingerprint": f"{rule}{len(message):04d}",
    }  # fmt: skip
    return Finding(rule=rule, name=name, severity=severity, message=message, **(given | more))  # type: ignore[arg-type]


def pack() -> Pack:
    rule = Rule(
        id="RA101", name="duplicate-frequency", check="duplicate-frequency",
        severity=Severity.ERROR, with_={}, why="Equal channels carry the same signal.",
        fix="Rebuild the table.", since="0.1.0", pack="core",
    )  # fmt: skip
    return Pack(name="core", version="1", sha256="ab" * 32, rules=(rule,), path="rules/core.yaml")


def failing() -> SubjectReport:
    tensor = Location(file="models/llama/model.safetensors", tensor="model.rotary_emb.inv_freq")
    config = Location(file="models/llama/config.json", pointer="/rope_scaling/factor", line=19)
    return SubjectReport(
        subject=Subject(
            target="models/llama",
            format="safetensors",
            model_type="llama",
            schedules=(llama_schedule(), quantised_schedule()),
        ),
        verdict=Verdict.FAIL,
        findings=(
            _finding(
                "RA101", "duplicate-frequency", Severity.ERROR,
                "36 channels hold the same frequency, so they cannot be told apart.",
                schedule="text/stored", location=tensor, fix="Rebuild the table in float32.",
                evidence={"max_cluster": 36, "clusters": [list(range(28, 64)), [24, 25]]},
            ),
            _finding(
                "RA401", "config-vs-stored", Severity.ERROR,
                "The stored table is not what the config means: 60 of 64 channels differ, the most "
                "by 3.14 rad at 8,192 positions.",
                schedule="text/stored", location=tensor,
                evidence={"max_abs_dlog": math.inf, "max_phase_drift": math.pi, "expected": None},
            ),
            _finding(
                "RA404", "factor-length", Severity.WARNING,
                "Factor 8 times original 8192 is 65536, 100% more would be declared.",
                location=config, evidence={"factor": 8.0},
            ),
            _finding(
                "RA203", "not-geometric", Severity.WARNING,
                "No base could be fitted: the table is constant from channel 28 on.",
                schedule="text/stored", status=Status.UNKNOWN,
            ),
            _finding(
                "RA301", "under-rotation", Severity.INFO,
                "29 of 64 channels never complete a turn within 8,192 positions.",
                evidence={"under_rotated": {"8192": 29}, "critical_dim": 70},
            ),
            _finding(
                "RA303", "base-bound", Severity.INFO,
                "The sum of cosines is negative first at distance 5,012.",
                evidence={"first_negative": 5012, "minimum": -3.25},
            ),
        ),
        skipped=(Skipped("RA103", "all frequencies lie within 0 and pi"),),
        suppressed=1,
    )  # fmt: skip


def hostile() -> SubjectReport:
    """A warning about a target whose every name tries to break out of its page."""
    warning = _finding(
        "RA403", "base-defaulted", Severity.WARNING, "No base in the file; 10000 is assumed.",
        schedule=None, location=Location(file=HOSTILE, pointer="/"),
        evidence={"rope_theta": 10000.0, "spelling": "\x1b]0;x\x07[bold]"},
        fix="Write rope_theta.",
    )  # fmt: skip
    return SubjectReport(
        subject=Subject(
            target=HOSTILE,
            format="hf-config",
            model_type="[link=x]evil",
            schedules=(vision_schedule(),),
        ),
        verdict=Verdict.WARN,
        findings=(warning,),
    )


def report() -> Report:
    """A failing, a warning, a passing, an unreadable and an empty subject."""
    subjects = (
        failing(),
        hostile(),
        SubjectReport(
            subject=Subject(
                target="models/gemma",
                format="hf-config",
                model_type="gemma3_text",
                schedules=sliding_schedules(),
            ),
            verdict=Verdict.PASS,
        ),
        SubjectReport(
            subject=Subject(
                target="models/broken.safetensors",
                format="unknown",
                error=Problem(
                    "truncated",
                    "models/broken.safetensors ends after 4 bytes, expected a header of 1,024; "
                    "download it again",
                    "byte 8",
                ),
            ),
            verdict=Verdict.UNKNOWN,
        ),
        SubjectReport(
            subject=Subject(
                target="models/bert",
                format="hf-config",
                model_type="bert",
                notes=(Note("no_rotary", "bert has no rotary position encoding"),),
            ),
            verdict=Verdict.UNKNOWN,
        ),
    )
    return Report(packs=(pack(),), subjects=subjects, skipped_targets=("models/notes.json",))
