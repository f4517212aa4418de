//! The names in a made-up trace, in the style of a real training run.

/// Operators as they nest, outermost first; the innermost one launches.
pub(crate) const OPERATORS: &[&[&str]] = &[
    &["autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0", "aten::mm"],
    &["aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution"],
    &["autograd::engine::evaluate_function: MulBackward0", "MulBackward0", "aten::mul"],
    &["aten::to", "aten::_to_copy", "aten::copy_"],
    &["aten::layer_norm", "aten::native_layer_norm"],
    &["aten::linear", "aten::addmm"],
    &["aten::softmax", "aten::_softmax"],
    &[
        "aten::scaled_dot_product_attention",
        "aten::_scaled_dot_product_flash_attention",
        "aten::_flash_attention_forward",
    ],
    &["aten::batch_norm", "aten::_batch_norm_impl_index", "aten::cudnn_batch_norm"],
    &["autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "aten::add_"],
    &["aten::contiguous", "aten::clone", "aten::copy_"],
    &["aten::cross_entropy_loss", "aten::nll_loss_nd", "aten::nll_loss_forward"],
    &["aten::matmul", "aten::bmm"],
    &["aten::dropout", "aten::native_dropout"],
    &["Optimizer.step#AdamW.step", "aten::_foreach_addcdiv_"],
    &["aten::embedding", "aten::index_select"],
    &["aten::add_"],
    &["aten::gelu"],
    &["aten::mul"],
    &["aten::sum"],
];

/// Python functions as they nest around an operator, outermost first.
pub(crate) const FRAMES: &[&str] = &[
    "train.py(212): train_step",
    "torch/nn/modules/module.py(1779): _call_impl",
    "nn.Module: TransformerBlock_3",
    "model/transformer.py(147): forward",
    "<built-in function linear>",
];

/// Some hundreds of kernel names, as long as real ones.
pub(crate) fn kernels() -> Vec<String> {
    elementwise().chain(products()).chain(reductions()).collect()
}

/// Names as short as those of a program's own kernels.
pub(crate) fn short_kernels() -> Vec<String> {
    (0..50).map(|at| format!("void k{at}<float>(int, float*)")).collect()
}

fn elementwise() -> impl Iterator<Item = String> {
    const FUNCTORS: [&str; 16] = [
        "AddFunctor",
        "MulFunctor",
        "sin_kernel_cuda",
        "exp_kernel_cuda",
        "GeluCUDAKernelImpl",
        "silu_kernel",
        "CUDAFunctor_add",
        "BinaryFunctor",
        "sqrt_kernel_cuda",
        "pow_tensor_scalar_kernel",
        "FillFunctor",
        "where_kernel_impl",
        "threshold_kernel_impl",
        "tanh_backward_kernel_cuda",
        "bfloat16_copy_kernel_cuda",
        "clamp_kernel_cuda",
    ];
    FUNCTORS.into_iter().flat_map(|functor| {
        ["float", "c10::Half", "c10::BFloat16", "double"].into_iter().flat_map(move |ty| {
            [1, 2, 4, 8].into_iter().map(move |width| {
                format!(
                    "void at::native::vectorized_elementwise_kernel<{width}, at::native::{functor}<{ty}>, \
                     std::array<char*, 3ul> >(int, at::native::{functor}<{ty}>, std::array<char*, 3ul>)"
                )
            })
        })
    })
}

fn products() -> impl Iterator<Item = String> {
    ["64x64x64", "64x128x64", "128x64x64", "128x128x64", "128x256x64", "256x128x64"].into_iter().flat_map(|tile| {
        ["tn", "nn", "nt"].into_iter().flat_map(move |order| {
            ["bf16bf16_bf16f32", "f16f16_f16f32", "f32f32_tf32f32"].into_iter().map(move |types| {
                format!(
                    "sm90_xmma_gemm_{types}_f32_{order}_n_tilesize{tile}_warpgroupsize1x1x1_execute_segment_k_\
                     off_kernel__5x_cublas"
                )
            })
        })
    })
}

fn reductions() -> impl Iterator<Item = String> {
    ["sum", "mean", "max", "norm_two", "arg_max", "prod", "std_var", "or"].into_iter().flat_map(|what| {
        ["float", "c10::Half", "c10::BFloat16"].into_iter().map(move |ty| {
            format!(
                "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<{ty}, \
                 at::native::func_wrapper_t<{ty}, at::native::{what}_functor<{ty}, float, {ty}>::operator()\
                 (at::TensorIterator&)::{{lambda(float, float)#1}}>, unsigned int, {ty}, 4, 4> >\
                 (at::native::ReduceOp<{ty}, at::native::func_wrapper_t<{ty}, at::native::{what}_functor\
                 <{ty}, float, {ty}>::operator()(at::TensorIterator&)::{{lambda(float, float)#1}}>, \
                 unsigned int, {ty}, 4, 4>)"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn kernels_are_many_distinct_and_plain_json() {
        let names = super::kernels();
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert!(names.len() > 300);
        assert!(names.iter().all(|name| !name.contains(['"', '\\']) && name.is_ascii()));
    }
}
