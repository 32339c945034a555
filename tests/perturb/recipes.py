"""Recipes for tests: strategies of valid texts, and a list that uses every head."""

from __future__ import annotations

from hypothesis import strategies as st

EVERY = (
    "identity",
    "int8:sym",
    "int8:affine",
    "int4:sym",
    "int4:affine",
    "int:bits=2,mode=sym",
    "int:bits=6,mode=affine",
    "log8",
    "log4",
    "log:bits=6",
    "cast:bf16",
    "cast:fp16",
    "cast:fp8_e4m3",
    "cast:fp8_e5m2",
    "noise:eps=1e-4,seed=1",
    "noise:eps=1e-2,seed=0",
    "cluster:at=high,codim=2,gap=1,to=gm",
    "cluster:at=low,codim=3,dlog=0.5,to=first",
    "cluster:at=mid,codim=4,gap=2,to=0.01",
    "apart:at=high,gap=1",
    "apart:at=mid,gap=3",
    "apart:at=0,gap=1,match=phase",
    "shift:at=mid,gap=3,dir=up",
    "shift:at=high,gap=2,dir=down",
    "swap:at=high,gap=3",
    "jitter:eps=1e-6",
    "int8:sym+jitter:eps=1e-7",
    "zero:from=2,to=4",
    "keep:from=0,to=5",
    "base:123456",
    "linear:factor=3",
    "ntk:factor=3",
    "dynamic:factor=2,length=1000000",
    "yarn:factor=4,original=4096",
    "llama3:factor=8,original=4096",
)
"""Every head that needs no file, and each of its words; all apply to tables of 16 channels."""

positive = st.floats(1e-9, 1e9, allow_subnormal=False)
counts = st.integers(1, 64)
places = st.one_of(st.integers(0, 300).map(str), st.sampled_from(["high", "mid", "low"]))
gaps = st.one_of(counts.map(lambda n: f"gap={n}"), positive.map(lambda x: f"dlog={x!r}"))


@st.composite
def _steps(draw: st.DrawFn) -> str:
    f, n, m = draw(positive), draw(counts), draw(counts)
    at, gap = draw(places), draw(gaps)
    mode = draw(st.sampled_from(["sym", "affine"]))
    bits, seed = draw(st.integers(2, 16)), draw(st.integers(0, 2**64 - 1))
    low, high = sorted((n, m))
    return draw(
        st.sampled_from(
            [
                "identity",
                f"int8:{mode}",
                f"int4:mode={mode}",
                f"int:mode={mode},bits={bits}",
                "log8",
                f"log:bits={bits}",
                f"cast:{draw(st.sampled_from(['bf16', 'fp16', 'fp8_e4m3', 'fp8_e5m2']))}",
                f"noise:seed={seed},eps={f!r}",
                f"cluster:at={at},codim={n + 1},{gap},to={draw(st.sampled_from(['gm', '0.5']))}",
                f"apart:{gap},at={at},match={draw(st.sampled_from(['log', 'phase']))}",
                f"shift:at={at},{gap},dir={draw(st.sampled_from(['up', 'down']))}",
                f"swap:at={at},{gap}",
                f"jitter:eps=-{f!r}",
                f"zero:from={low},to={high}",
                f"keep:to={high},from={low}",
                f"base:{f!r}",
                f"linear:factor={f!r}",
                f"ntk:factor={f!r}",
                f"dynamic:factor={f!r},length={n}",
                f"yarn:original={n},factor={f!r},truncate=false,beta_fast={f!r}",
                f"llama3:factor={f!r},original={n},low_freq_factor={low},high={high}",
                "longrope:factors/long list.json",
            ]
        )
    )


scopes = st.sampled_from(
    ["", "@sliding_attention", "@layers=3-7", "@layers=0,2,4-5", "@full@layers=1", "@head=2"]
)
texts = st.lists(st.builds(lambda a, b: a + b, _steps(), scopes), min_size=1, max_size=4).map(
    "+".join
)
"""Recipe texts that can be read, in spellings that need not be the canonical ones."""
