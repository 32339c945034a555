"""What is asked of transformers: weights, tokenizer and a few facts about a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ropeaudit.errors import SourceError, UsageError, quoted, quoted_path
from ropeaudit.facts import Note
from ropeaudit.perplexity._slots import Slot
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import round_to
from ropeaudit.schedule.subject import Subject

_SAID = 200


def model(
    reference: str, folder: Path, file: Path | None, *, dtype: str | None, device: str, auto: bool
) -> tuple[Any, list[Note]]:
    """The model with its weights, in evaluation mode.

    Raises SourceError where transformers cannot read it, or would have to invent weights, and
    UsageError for a model that is no language model or needs code from its own folder.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if file is not None:
        options["gguf_file"] = file.name
    config = _asked(reference, lambda: AutoConfig.from_pretrained(str(folder), **options))
    own = dtype is None and device != "cpu" and file is None
    wanted = "auto" if own else getattr(torch, dtype or "float32")
    options |= {"config": config, "dtype": wanted, "output_loading_info": True}
    options |= {"ignore_mismatched_sizes": True}  # not ignored, but named below
    options |= {"device_map": "auto"} if auto and device != "cpu" else {}
    notes: list[Note] = []
    try:
        found: Any = AutoModelForCausalLM.from_pretrained(
            str(folder), attn_implementation="sdpa", **options
        )
    except (ValueError, ImportError) as error:
        if "scaled_dot_product_attention" not in str(error) and "sdpa" not in str(error):
            raise _refused(reference, error) from None
        notes.append(Note("eager", "this model has no SDPA attention; its own is used"))
        found = _asked(
            reference, lambda: AutoModelForCausalLM.from_pretrained(str(folder), **options)
        )
    except Exception as error:
        raise _refused(reference, error) from None
    made, info = found
    _require_whole(reference, info)
    return (made if auto and device != "cpu" else made.to(device)).eval(), notes


def _asked(reference: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # transformers raises a dozen kinds for what it cannot read
        raise _refused(reference, error) from None


def _refused(reference: str, error: Exception) -> SourceError | UsageError:
    import torch

    text = " ".join(str(error).split())
    what = quoted_path(reference)
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return UsageError(
            f"{what} does not fit into memory; take --dtype bfloat16 or --device auto"
        )
    if "trust_remote_code" in text or "custom code" in text:
        return UsageError(
            f"{what} needs code from its own repository, which is not run here; take a model that "
            "transformers has a class for"
        )
    if "Unrecognized configuration class" in text:
        return UsageError(f"{what} is no causal language model that transformers knows")
    return SourceError(f"transformers cannot load {what}: {quoted(text, _SAID)}")


def _require_whole(reference: str, info: Any) -> None:
    """Raises SourceError where weights were missing: transformers would make them up at random."""
    for kind, said in (("missing_keys", "missing"), ("mismatched_keys", "of another shape")):
        names = (n if isinstance(n, str) else n[0] for n in _get(info, kind) or ())
        found = sorted(names)
        if found:
            raise SourceError(
                f"{quoted_path(reference)}: of the weights that its config asks for, {len(found)} "
                f"{'is' if len(found) == 1 else 'are'} {said}, {quoted(found[0], 200)} first; "
                "random numbers would be measured in their place"
            )


def _get(info: Any, name: str) -> Any:
    return info.get(name) if hasattr(info, "get") else getattr(info, name, None)


def tokenizer(folder: Path, file: Path | None) -> tuple[Any, list[Note]]:
    """The tokenizer beside the weights; None, with a note, where there is none that can be read."""
    from transformers import AutoTokenizer

    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if file is not None:
        options["gguf_file"] = file.name
    said = "no tokenizer can be read beside the weights"
    try:
        found = AutoTokenizer.from_pretrained(str(folder), **options)
    except Exception as error:
        text = quoted(" ".join(str(error).split()), _SAID)
        return None, [Note("no_tokenizer", f"{said}: {text}")]
    # Without files some classes (Qwen, Gemma, GPT-NeoX) make one of special tokens alone.
    if len(found) <= len({*found.all_special_tokens, *found.get_added_vocab()}):
        return None, [Note("no_tokenizer", f"{said}: there are no words in it")]
    return found, []


def encoder(tokenizer: Any) -> Callable[[str], list[int]]:
    """Text to token ids, nothing added at either end."""

    def encode(text: str) -> list[int]:
        # verbose=False: a whole text is longer than the model's context on purpose.
        found = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return [int(n) for n in found]

    return encode


def bos(model: Any, tokenizer: Any) -> int | None:
    """The id that begins a text, by the tokenizer or else by the config."""
    config = model.config.get_text_config()
    for found in (getattr(tokenizer, "bos_token_id", None), getattr(config, "bos_token_id", None)):
        if isinstance(found, int):
            return found
    return None


def widen(model: Any, subject: Subject) -> list[Note]:
    """Put tables that were cast with the weights back to float32, by the config.

    Returns a note for each that no table of the config explains: it is widened as it stands.
    """
    import torch

    notes: list[Note] = []
    for path, module in model.named_modules():
        for name, buffer in list(module.named_buffers(recurse=False)):
            if not buffer.is_floating_point() or buffer.is_meta or buffer.dtype == torch.float32:
                continue
            if name == "embed_positions" and len(buffer.shape) == 2:
                notes += _widen_cache(module, f"{path}.{name}", subject)
                continue
            if not name.endswith("inv_freq"):
                continue
            narrow = str(buffer.dtype).removeprefix("torch.")
            table = buffer.double().cpu().reshape(-1).tolist()
            known = next((s for s in subject.built() if _cast(s, narrow) == table), None)
            if known is None:
                notes.append(_unexplained(f"{path}.{name}", narrow))
            values = table if known is None else known.inv_freq
            wide = torch.tensor(values, dtype=torch.float32, device=buffer.device)
            module._buffers[name] = wide.reshape(buffer.shape)
    return notes


def _widen_cache(module: Any, name: str, subject: Subject) -> list[Note]:
    """Sines and cosines of every position, computed anew from the config's table."""
    held = module._buffers["embed_positions"]
    slot = Slot(module=module, path="", prefix="", schedules=(), layers=None, cached=True)
    for schedule in (s for s in subject.built() if s.is_text):
        if 2 * len(schedule.inv_freq) != held.shape[1]:
            continue
        wide = slot.holding(schedule.inv_freq, 1.0)
        if bool((wide.to(held.dtype) - held).abs().max() < 2.0**-6):
            module._buffers["embed_positions"] = wide
            return []
    module._buffers["embed_positions"] = held.float()
    return [_unexplained(name, str(held.dtype).removeprefix("torch."))]


def _unexplained(name: str, narrow: str) -> Note:
    return Note(
        "narrow_table",
        f"the table {quoted(name)} came in {narrow} and does not follow from the config; it is "
        "measured as it stands",
    )


def _cast(schedule: Schedule, dtype: str) -> list[float]:
    return [round_to(v, dtype) for v in schedule.inv_freq]
