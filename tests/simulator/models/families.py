"""The architecture families that speculative decoding is tested on, each built tiny with random weights.

Knows how to build them. Does not know what is tested: `test_families` and `families_table` read the same list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

VOCAB, POSITIONS, WINDOW = 128, 128, 8
SIZES = dict(
    vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=POSITIONS, tie_word_embeddings=False, pad_token_id=None,
    bos_token_id=None, eos_token_id=None,
)  # fmt: skip
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32)
GATED_DELTA = dict(
    layer_types=["linear_attention", "full_attention"], head_dim=8, linear_key_head_dim=8, linear_value_head_dim=8,
    linear_num_key_heads=2, linear_num_value_heads=4, linear_conv_kernel_dim=4,
)  # fmt: skip
MAMBA = dict(mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_chunk_size=8, mamba_n_groups=1)
ALTERNATING = dict(sliding_window=WINDOW, layer_types=["sliding_attention", "full_attention"])


@dataclass(frozen=True)
class Family:
    """One architecture: transformers' class names and the settings that differ from `SIZES`."""

    name: str
    layers: str  # what the layers are, for the table
    architecture: str  # the model class
    config: str  # the configuration class, or the text part of it
    settings: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()  # settings of SIZES that this configuration does not have
    wrap: Callable[[Any], Any] | None = None  # text configuration -> the configuration around it
    spread: float = 0.3  # of the random weights
    embedding: float = 1.0  # factor on the embeddings: a tied head that meets them again would repeat one token
    final_norm: float | None = None  # weight of the last norm, to spread the logits of small tied embeddings
    seed: int = 0  # one whose greedy text varies and has no near ties
    refused: str = ""  # the words in which it is refused, where it is

    def build(self, noise: float = 0.0) -> Any:
        """Return the model in float32; with `noise` its weights are off by that fraction of their spread."""
        settings = {k: v for k, v in (SIZES | self.settings).items() if k not in self.without}
        config = getattr(transformers, self.config)(**settings)
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(self.seed)
            model = getattr(transformers, self.architecture)(self.wrap(config) if self.wrap else config)
            matrices = [weight for weight in model.parameters() if weight.ndim > 1]
            for weight in matrices:
                weight.normal_(0, self.spread)
            model.get_input_embeddings().weight *= self.embedding
            if self.final_norm is not None:
                model.model.norm.weight.fill_(self.final_norm)
            for weight in matrices:
                weight += noise * weight.std() * torch.randn(weight.shape)
        return model.eval()


def _thinker(text: Any) -> Any:
    """Return a Qwen3-Omni thinker's configuration around the text model's."""
    return transformers.Qwen3OmniMoeThinkerConfig(
        text_config=text.to_dict(), audio_token_id=VOCAB + 1, image_token_id=VOCAB + 2, video_token_id=VOCAB + 3,
        audio_config=dict(num_mel_bins=8, encoder_layers=1, encoder_attention_heads=1, encoder_ffn_dim=8, d_model=8,
                          output_dim=32, downsample_hidden_size=8),
        vision_config=dict(depth=1, hidden_size=8, intermediate_size=8, num_heads=1, out_hidden_size=32,
                           deepstack_visual_indexes=[0]),
    )  # fmt: skip


NO_ATTENTION = ("num_attention_heads", "num_key_value_heads", "max_position_embeddings", "intermediate_size")

FAMILIES = (
    Family("Llama", "2 full attention", "LlamaForCausalLM", "LlamaConfig", seed=1),
    Family("Qwen2", "2 full attention, tied head", "Qwen2ForCausalLM", "Qwen2Config", dict(tie_word_embeddings=True),
           seed=2),
    Family("Qwen3", "2 full attention", "Qwen3ForCausalLM", "Qwen3Config", dict(head_dim=8), seed=4),
    Family("Qwen3-MoE", "2 full attention, experts", "Qwen3MoeForCausalLM", "Qwen3MoeConfig",
           dict(head_dim=8, **EXPERTS)),
    Family("Gemma 3", "sliding + full attention, tied head", "Gemma3ForCausalLM", "Gemma3TextConfig",
           dict(head_dim=8, query_pre_attn_scalar=8, tie_word_embeddings=True, **ALTERNATING),
           embedding=0.15, final_norm=8, seed=5),
    Family("Gemma 4", "2 sliding + 2 full attention, half of them on shared keys, tied head", "Gemma4ForCausalLM",
           "Gemma4TextConfig",
           dict(head_dim=8, num_hidden_layers=4, num_kv_shared_layers=2, vocab_size_per_layer_input=VOCAB,
                hidden_size_per_layer_input=8, sliding_window=WINDOW, tie_word_embeddings=True,
                layer_types=["sliding_attention", "full_attention"] * 2),
           spread=0.15, embedding=0.4, seed=6),
    Family("Mistral", "2 sliding attention", "MistralForCausalLM", "MistralConfig", dict(sliding_window=WINDOW),
           seed=1),
    Family("gpt-oss", "sliding + full attention with sinks, experts", "GptOssForCausalLM", "GptOssConfig",
           dict(head_dim=8, num_local_experts=4, num_experts_per_tok=2, **ALTERNATING), seed=4),
    Family("Llama 4", "chunked + full attention, experts", "Llama4ForCausalLM", "Llama4TextConfig",
           dict(head_dim=8, attention_chunk_size=WINDOW, num_local_experts=2, intermediate_size_mlp=64,
                layer_types=["chunked_attention", "full_attention"]), seed=3),
    Family("Phi-3", "2 full attention", "Phi3ForCausalLM", "Phi3Config", seed=2),
    Family("GPT-2", "2 full attention, learned positions, tied head", "GPT2LMHeadModel", "GPT2Config",
           dict(tie_word_embeddings=True), without=("num_key_value_heads", "intermediate_size"), seed=3),
    Family("GPT-NeoX", "2 full attention", "GPTNeoXForCausalLM", "GPTNeoXConfig", without=("num_key_value_heads",),
           seed=9),
    Family("OLMo 2", "2 full attention", "Olmo2ForCausalLM", "Olmo2Config", seed=4),
    Family("DeepSeek-V3", "2 latent attention (MLA), experts", "DeepseekV3ForCausalLM", "DeepseekV3Config",
           dict(num_key_value_heads=4, kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8,
                v_head_dim=8, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1,
                moe_intermediate_size=32, first_k_dense_replace=1), seed=1),
    Family("Qwen3-Next", "gated delta + full attention, experts", "Qwen3NextForCausalLM", "Qwen3NextConfig",
           dict(shared_expert_intermediate_size=32, **GATED_DELTA, **EXPERTS), spread=0.15, seed=2),
    Family("Qwen3.5", "gated delta + full attention", "Qwen3_5ForCausalLM", "Qwen3_5TextConfig", GATED_DELTA,
           spread=0.15, seed=4),
    Family("Kimi Linear", "delta attention (KDA) + latent attention (MLA), experts", "KimiLinearForCausalLM",
           "KimiLinearConfig",
           dict(num_key_value_heads=4, kv_lora_rank=16, q_lora_rank=None, qk_rope_head_dim=8, qk_nope_head_dim=8,
                v_head_dim=8, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
                linear_head_dim=8, linear_num_heads=4, layer_types=["linear_attention", "full_attention"],
                mlp_layer_types=["dense", "sparse"]), seed=4),
    Family("Mamba", "2 state space", "MambaForCausalLM", "MambaConfig", dict(state_size=8), without=NO_ATTENTION,
           seed=2),
    Family("Mamba-2", "2 state space", "Mamba2ForCausalLM", "Mamba2Config",
           dict(num_heads=4, head_dim=16, state_size=8, n_groups=1, chunk_size=8), without=NO_ATTENTION, seed=4),
    Family("LFM2", "short convolution + full attention, tied head", "Lfm2ForCausalLM", "Lfm2Config",
           dict(layer_types=["conv", "full_attention"], tie_word_embeddings=True, block_auto_adjust_ff_dim=False)),
    Family("Bamba", "Mamba-2 + full attention", "BambaForCausalLM", "BambaConfig",
           dict(attn_layer_indices=[1], **MAMBA), seed=4),
    Family("Jamba", "Mamba + full attention, experts", "JambaForCausalLM", "JambaConfig",
           dict(attn_layer_period=2, attn_layer_offset=1, num_experts=2, mamba_d_state=8, mamba_dt_rank=4), seed=1),
    Family("Falcon-H1", "2 of Mamba-2 beside full attention", "FalconH1ForCausalLM", "FalconH1Config",
           dict(mamba_d_ssm=64, head_dim=8, **MAMBA), seed=3),
    Family("Qwen3-Omni", "thinker, text only: 2 full attention, experts",
           "Qwen3OmniMoeThinkerForConditionalGeneration", "Qwen3OmniMoeTextConfig",
           dict(head_dim=8, rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[2, 1, 1]),
                **EXPERTS), wrap=_thinker, seed=9),
)  # fmt: skip

REFUSED = (
    Family("DeepSeek-V4", "sliding + compressed attention", "DeepseekV4ForCausalLM", "DeepseekV4Config",
           dict(num_key_value_heads=1, head_dim=16, q_lora_rank=16, n_routed_experts=4, num_experts_per_tok=2,
                moe_intermediate_size=32, sliding_window=WINDOW, o_groups=2, o_lora_rank=8, index_n_heads=2,
                index_head_dim=8, index_topk=4,
                layer_types=["compressed_sparse_attention", "heavily_compressed_attention"],
                compress_rates=dict(compressed_sparse_attention=4, heavily_compressed_attention=8)),
           refused="layers of the class DeepseekV4CSACache, DeepseekV4HCACache"),
    Family("MiniMax", "lightning + full attention", "MiniMaxForCausalLM", "MiniMaxConfig",
           dict(head_dim=8, block_size=8, num_local_experts=2, layer_types=["linear_attention", "full_attention"]),
           refused="MiniMax uses cache of its own"),
    Family("RecurrentGemma", "gated recurrence (RG-LRU) + sliding attention", "RecurrentGemmaForCausalLM",
           "RecurrentGemmaConfig",
           dict(block_types=["recurrent", "attention"], attention_window_size=WINDOW, lru_width=32,
                num_key_value_heads=1), without=("max_position_embeddings",),
           refused="tokens taken back and read again give other logits"),
    Family("Zamba 2", "2 Mamba-2, one beside shared full attention", "Zamba2ForCausalLM", "Zamba2Config",
           dict(layers_block_type=["mamba", "hybrid"], num_mem_blocks=1, use_mem_rope=True, mamba_d_state=8,
                n_mamba_heads=4, mamba_headdim=16, mamba_ngroups=1, chunk_size=8),
           refused="Zamba2MambaMixer limits its time steps in passes over several tokens, but not over one"),
    Family("RWKV", "2 RWKV", "RwkvForCausalLM", "RwkvConfig", dict(context_length=POSITIONS, attention_hidden_size=32),
           without=NO_ATTENTION[:3], refused="reads no cache"),
    Family("xLSTM", "2 mLSTM", "xLSTMForCausalLM", "xLSTMConfig",
           dict(num_heads=4, chunkwise_kernel="chunkwise--native_autograd", sequence_kernel="native_sequence__native",
                step_kernel="native"), without=NO_ATTENTION, refused="cannot be read in pieces with a growing cache"),
)  # fmt: skip
