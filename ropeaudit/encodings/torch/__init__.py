"""The encodings as torch modules that drop into attention.

One module an encoding, of the same name, each with ``class Module(nn.Module)``: built from an
:class:`ropeaudit.encodings.core.Encoding`, parameters under the checkpoint's names and trainable,
``forward(q, k, q_positions, k_positions) -> scores``. q is (batch, heads, queries, head_dim), k is
(batch, heads, keys, head_dim), positions are (queries, axes) and (keys, axes), scores are (batch,
heads, queries, keys) without the ``1/sqrt(head_dim)``; ``layer`` picks the layer.
"""
