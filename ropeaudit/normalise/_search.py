"""The search for the spelling on which most engines agree.

Every candidate is written into the text and built by every engine. A candidate counts only if the
reference builds the same to the bit, every engine that agreed before still agrees, and not all that
it does is to make an engine misread what it refused. Among those, more agreeing engines win, then
fewer that are silently wrong, then the spelling that is advised, then the smaller change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ropeaudit.normalise import _spellings, _text
from ropeaudit.normalise._judge import Judge, Judged, unchanged
from ropeaudit.normalise._spellings import Atom, Spelling
from ropeaudit.normalise._stated import Part, parts
from ropeaudit.records import field, record


@record(frozen=False)
class Search:
    """``start`` is the file as it is; ``elsewhere``: engine -> a spelling that it would read."""

    judge: Judge
    start: Judged
    elsewhere: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def settled(self) -> Judged:
        """The proposal: what normalising once more leaves as it is.

        Mostly the second round changes nothing. Where rounds go in a circle, one member of it
        stands for all, whichever of them was the file.
        """
        rounds = [self.start]
        while True:
            after = self._round(rounds[-1])
            texts = [r.text for r in rounds]
            if after.text in texts:
                circle = rounds[texts.index(after.text) :]
                return max(circle, key=_standing)
            rounds.append(after)

    def _round(self, now: Judged) -> Judged:
        places = [(p.pointer, p.node.component) for p in parts(now.document, now.subject)]
        for place in places:
            part = next(
                (
                    p
                    for p in parts(now.document, now.subject)
                    if (p.pointer, p.node.component) == place
                ),
                None,
            )
            if part is not None:
                now = self._part(now, part)
        return now

    def _part(self, now: Judged, part: Part) -> Judged:
        extras = tuple(_spellings.advised(part))
        ways = _spellings.spellings(part)
        found = [
            (self._key(judged, index), judged)
            for index, way in enumerate(ways)
            if (judged := self._tried(now, [*way.atoms, *extras], way.name)) is not None
        ]
        best = max(found, key=lambda f: f[0])[1] if found else self._piecewise(now, ways, extras)
        for atom in _spellings.optional(part):
            more = self._tried(best, [atom], atom.why)
            if more is not None and len(more.agreeing) > len(best.agreeing):
                best = more
        return best

    def _key(self, judged: Judged, index: int) -> tuple[int, int, int, int]:
        size = abs(len(judged.text) - len(self.start.text))
        return len(judged.agreeing), -judged.silent, -index, -size

    def _piecewise(self, now: Judged, ways: Sequence[Spelling], extras: Iterable[Atom]) -> Judged:
        """Statement by statement, each in one way, where the whole of no spelling is possible."""
        done: set[str] = set()
        for way in ways:
            for atom in way.atoms:
                after = None if atom.why in done else self._tried(now, [atom], way.name)
                if after is not None:
                    now = after
                    done.add(atom.why)
        for atom in extras:
            now = self._tried(now, [atom], atom.why) or now
        return now

    def _tried(self, now: Judged, atoms: Iterable[Atom], name: str) -> Judged | None:
        """``now`` with ``atoms`` carried out; None where that is no candidate."""
        settings: dict[str, _text.Leaf | None] = {}
        for atom in atoms:
            settings |= atom.settings
            for pointer in atom.settings:
                self.reasons.setdefault(pointer, atom.why)
        judged = self.judge.of(_text.rewrite(now.text, settings))
        if judged is None or not unchanged(self.start, judged):
            return None
        for engine in judged.agreeing:
            self.elsewhere.setdefault(engine, name)
        if not judged.agreeing >= now.agreeing:
            return None
        # A refusal that becomes a silent mistake is no progress by itself.
        louder = judged.silent <= now.silent or len(judged.agreeing) > len(now.agreeing)
        return judged if louder else None


def _standing(judged: Judged) -> tuple[int, int, int, str]:
    return len(judged.agreeing), -judged.silent, -len(judged.text), judged.text
