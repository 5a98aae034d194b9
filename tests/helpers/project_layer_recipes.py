"""How to make the layers of single projects, and an input that each takes."""

from __future__ import annotations

import numpy as np

import relume as rl
from relume import legacy_nn as nn


def v(*shape, seed=0):
    """Random doubles."""
    return rl.tensor(np.random.default_rng(seed).standard_normal(shape))


def boxes(*shape, seed=0):
    return v(*shape, 4, seed=seed).abs() * 4 + 3


def options(**named):
    return rl.Table(named)


def pooling():
    return nn.BilinearRoiPooling(2, 3).setImageSize(40, 50)


def recurrent_table():
    return nn.CudnnRnnTable(nn.cudnn.LSTM(3, 2), 3)


def one_step_convolution():
    layer = nn.LinearizedConvolution()
    layer.setParameters(v(2, 3, 4), v(2))
    return layer


def adaptive():
    layer = nn.AdaptiveSoftMax(4, [2, 5, 7])
    layer.setTarget(rl.tensor([1, 4, 7]))
    return layer


def two_modes():
    return nn.TrainTestLayer(nn.Linear(3, 2), nn.Linear(3, 2))


def convolution_of_two_modes():
    convolution = nn.TemporalConvolutionTBC(3, 2, 2)
    inner = nn.Sequential().add(nn.Identity()).add(nn.Sequential().add(convolution))
    return nn.ConvBlockTrainTestLayer(inner, nn.LinearizedConvolution())


def fovea():
    networks = [nn.SpatialConvolution(3, 1, 1, 1) for _ in range(2)]
    return nn.SpatialRecursiveFovea(2, 1, [2, 1], networks)


SIZES = rl.tensor([[4.0, 6.0], [2.0, 3.0]]).double()
IMAGE, IMAGES = v(3, 6, 8), v(2, 3, 6, 8)
CAMERA = (3, 4, 2.0, 2.0, 2.0, 2.0)
WORDS = rl.tensor([[1, 3], [2, 0]])
STEPS = [v(2, 3), v(2, 3, seed=1)]
SENTENCES = [v(5, 3), rl.tensor([2.0, 3.0]).double()]
GAUSSIANS = [v(3, 4), v(3, 4, seed=1)]

# Class: a function that makes a layer, its input.
LAYERS = {
    "BatchNormalizationShiftPow2": (
        lambda: nn.lookup("BatchNormalizationShiftPow2")(3),
        v(4, 3),
    ),
    "BinarizedNeurons": (nn.lookup("BinarizedNeurons"), v(2, 3)),
    "BinaryLinear": (lambda: nn.lookup("BinaryLinear")(3, 2), v(4, 3)),
    "BinarySpatialConvolution": (
        lambda: nn.lookup("BinarySpatialConvolution")(3, 2, 3, 3),
        v(2, 3, 6, 8),
    ),
    "SpatialBatchNormalizationShiftPow2": (
        lambda: nn.lookup("SpatialBatchNormalizationShiftPow2")(3),
        v(2, 3, 6, 8),
    ),
    "cudnnBinarySpatialConvolution": (
        lambda: nn.lookup("cudnnBinarySpatialConvolution")(3, 2, 3, 3),
        v(2, 3, 6, 8),
    ),
    "Embedding": (lambda: nn.lookup("Embedding")(5, 3), rl.tensor([2, 5, 2])),
    "nn.AdaptiveInstanceNormalization": (
        lambda: nn.AdaptiveInstanceNormalization(3),
        [IMAGES, v(2, 3, 4, 5, seed=1)],
    ),
    "nn.AdaptiveSoftMax": (adaptive, v(3, 4)),
    "nn.Aggregate": (lambda: nn.Aggregate(3, 4), [v(5, 3), v(5, 3, 4)]),
    "nn.AppendBias": (nn.AppendBias, v(2, 3)),
    "nn.ApplyBoxTransform": (nn.ApplyBoxTransform, [boxes(3), v(3, 4)]),
    "nn.BatchBilinearSamplerBHWD": (
        nn.BatchBilinearSamplerBHWD,
        [v(4, 5, 2), v(3, 2, 2, 2) * 0.3],
    ),
    "nn.BatchFlip": (nn.BatchFlip, IMAGES),
    "nn.BatchTopK": (lambda: nn.BatchTopK(0.5, True), v(4, 3)),
    "nn.BeamableMM": (nn.BeamableMM, [v(2, 1, 3), v(2, 3, 4)]),
    "nn.BiRnnJoin": (lambda: nn.BiRnnJoin(3, 2, 4), [STEPS, STEPS]),
    "nn.BilinearRoiPooling": (pooling, [IMAGE, boxes(4)]),
    "nn.Binarize": (nn.Binarize, v(2, 3)),
    "nn.BoxIoU": (nn.BoxIoU, [boxes(1, 3), boxes(1, 2, seed=1)]),
    "nn.BoxSampler": (
        lambda: nn.BoxSampler(options(batch_size=4)),
        [boxes(1, 6), boxes(1, 2, seed=1)],
    ),
    "nn.BoxSamplerHelper": (
        lambda: nn.BoxSamplerHelper(options(batch_size=4)),
        [[boxes(1, 6), v(1, 6, 3)], [boxes(1, 2, seed=1), v(1, 2, 1)]],
    ),
    "nn.BoxToAffine": (lambda: nn.BoxToAffine().setSize(30, 40), boxes(3)),
    "nn.CAddRepTable": (nn.CAddRepTable, [v(4, 3), v(3), v(3, seed=1)]),
    "nn.CAddTableMulConstant": (lambda: nn.CAddTableMulConstant(0.5), GAUSSIANS),
    "nn.Calibrate": (nn.Calibrate, IMAGE),
    "nn.CircularConvolution": (nn.CircularConvolution, [v(7), v(3)]),
    "nn.ContentLossModule": (lambda: nn.ContentLossModule(0.5), IMAGE),
    "nn.ConvBlockTrainTestLayer": (convolution_of_two_modes, v(4, 2, 3)),
    "nn.ConvLSTM": (lambda: nn.ConvLSTM(3, 2, 4), v(2, 3, 6, 8)),
    "nn.CsDis": (nn.CsDis, [v(4), v(4, seed=1)]),
    "nn.CudnnRnnTable": (recurrent_table, [[v(1, 2, 2), v(1, 2, 2)], STEPS]),
    "nn.ChannelDropout": (lambda: nn.ChannelDropout(3), v(2, 3, 6, 8)),
    "nn.MultiSkipAdd": (nn.MultiSkipAdd, [v(2, 3), [v(2, 3, seed=1), v(2, 3, seed=2)]]),
    "nn.DMax": (lambda: nn.DMax(1, 2), [v(7, 3), rl.tensor([4, 3])]),
    "nn.DeconvnetReLU": (nn.DeconvnetReLU, v(2, 3)),
    "nn.Diag": (lambda: nn.Diag(3), IMAGE),
    "nn.DummyGradOutput": (nn.DummyGradOutput, v(2, 3)),
    "nn.Encoding": (lambda: nn.Encoding(3, 4), v(2, 5, 4)),
    "nn.FeatExpanderConv": (lambda: nn.FeatExpanderConv(2), v(2, 3, 4)),
    "nn.Gaussian": (nn.Gaussian, v(2, 3)),
    "nn.GaussianNoise": (lambda: nn.GaussianNoise(0.1), v(2, 3)),
    "nn.GradMultiply": (lambda: nn.GradMultiply(nn.Linear(3, 2), 0.1), v(2, 3)),
    "nn.GradientRescale": (lambda: nn.GradientRescale(0.7), v(2, 3)),
    "nn.GuidedReLU": (nn.GuidedReLU, v(2, 3)),
    "nn.Inspiration": (lambda: nn.Inspiration(3), IMAGES),
    "nn.InvertBoxTransform": (nn.InvertBoxTransform, [boxes(3), boxes(3, seed=1)]),
    "nn.KLDPenalty": (nn.KLDPenalty, GAUSSIANS),
    "nn.LinearO": (lambda: nn.LinearO(3, 2), v(4, 3)),
    "nn.LinearizedConvolution": (one_step_convolution, v(2, 1, 4)),
    "nn.LstmLayer": (lambda: nn.LstmLayer(3, 2, 5), STEPS),
    "nn.MakeAnchors": (lambda: nn.MakeAnchors(1, 1, 4, 4, SIZES), v(1, 3, 2, 2)),
    "nn.MakeBoxes": (lambda: nn.MakeBoxes(1, 1, 4, 4, SIZES), v(1, 8, 2, 2)),
    "nn.MaskFuture": (lambda: nn.MaskFuture(3), v(2, 3, 3)),
    "nn.MaskSoftMax": (nn.MaskSoftMax, [v(2, 3), rl.tensor([[0, 1, 0], [0, 0, 0]])]),
    "nn.MaskTime": (lambda: nn.MaskTime(3), [WORDS, v(2, 3)]),
    "nn.MaxCoord": (nn.MaxCoord, IMAGE),
    "nn.MinDim": (lambda: nn.MinDim(1, 3), v(2, 3)),
    "nn.MySpatialAveragePooling": (lambda: nn.MySpatialAveragePooling(3, 2, 2), IMAGES),
    "nn.NaiveBatchBilinearSamplerBHWD": (
        nn.NaiveBatchBilinearSamplerBHWD,
        [v(4, 5, 2), v(3, 2, 2, 2) * 0.3],
    ),
    "nn.NetVLAD": (lambda: nn.NetVLAD(3, 4), v(2, 5, 4)),
    "nn.Normalization": (nn.Normalization, v(2, 3)),
    "nn.OuterProd": (nn.OuterProd, [v(2, 3), v(2, 4)]),
    "nn.PaddingReshape": (nn.PaddingReshape, v(2, 3)),
    "nn.PosSlicer": (nn.PosSlicer, [v(5, 3), v(2, 3)]),
    "nn.PositionalEncoder": (nn.PositionalEncoder, SENTENCES),
    "nn.PowTable": (nn.PowTable, [v(4).abs(), v(1).abs()]),
    "nn.PinHoleCameraProjectionBHWD": (
        lambda: nn.PinHoleCameraProjectionBHWD(*CAMERA),
        v(2, 3, 4, 3),
    ),
    "nn.ReverseXYOrder": (nn.ReverseXYOrder, v(2, 3, 4, 2)),
    "nn.Transform3DPoints_R": (lambda: nn.Transform3DPoints_R(*CAMERA), v(2, 3, 3)),
    "nn.Transform3DPoints_Rt": (
        lambda: nn.Transform3DPoints_Rt(*CAMERA),
        [v(2, 3, 4), v(2, 3, 4)],
    ),
    "nn.Transform3DPoints_depth": (lambda: nn.Transform3DPoints_depth(*CAMERA), v(2, 3, 4)),
    "nn.TransformationRotationSO3": (nn.TransformationRotationSO3, v(2, 3)),
    "nn.Rectifier": (nn.Rectifier, v(2, 3)),
    "nn.RegularizeLayer": (lambda: nn.RegularizeLayer(0.1), v(2, 3)),
    "nn.ReplaceZero": (lambda: nn.ReplaceZero(2), v(2, 3)),
    "nn.ReshapeBoxFeatures": (lambda: nn.ReshapeBoxFeatures(2), v(1, 6, 2, 2)),
    "nn.Sampler": (nn.Sampler, GAUSSIANS),
    "nn.ScalarDivTable": (nn.ScalarDivTable, [v(4), v(1)]),
    "nn.ScalarMulTable": (nn.ScalarMulTable, [v(4), v(1)]),
    "nn.Scale": (lambda: nn.Scale(3, 4), v(1, 3, 6, 8)),
    "nn.SeqMultiply": (nn.SeqMultiply, [v(2, 3), v(2, 4, 3)]),
    "nn.SharedParallelTable": (lambda: nn.SharedParallelTable(nn.Linear(3, 2), 4), STEPS),
    "nn.SmoothCosineSimilarity": (nn.SmoothCosineSimilarity, [v(4, 3), v(3)]),
    "nn.SpatialCircularPadding": (lambda: nn.SpatialCircularPadding(1, 2, 3, 0), IMAGES),
    "nn.SpatialConvolutionUpsample": (
        lambda: nn.SpatialConvolutionUpsample(3, 2, 3, 3),
        IMAGES,
    ),
    "nn.SpatialConvolutionNoBias": (
        lambda: nn.SpatialConvolutionNoBias(3, 2, 3, 3),
        v(2, 3, 6, 8),
    ),
    "nn.SpatialRecursiveFovea": (fovea, v(2, 4, 6)),
    "nn.StyleINLossModule": (lambda: nn.StyleINLossModule(0.5), IMAGE),
    "nn.SumVecarr": (nn.SumVecarr, SENTENCES),
    "nn.TVLossModule": (lambda: nn.TVLossModule(0.1), IMAGE),
    "nn.TensorProd": (lambda: nn.TensorProd(3, 4, 2), [v(5, 3), v(5, 4)]),
    "nn.TrainTestLayer": (two_modes, v(2, 3)),
    "nn.Uniform": (nn.Uniform, v(2, 3)),
    "nn.VGG_postprocess": (nn.VGG_postprocess, IMAGES),
    "nn.WeightedLookupTableSkinny": (
        lambda: nn.WeightedLookupTableSkinny(5, 3),
        rl.tensor([[2.0, 0.5], [5.0, 2.0]]).double(),
    ),
    "nn.ZipAlong": (nn.ZipAlong, [STEPS, v(2, 2)]),
    "nn.maskSoftMax": (nn.maskSoftMax, [v(2, 3), rl.tensor([[0, 1, 0], [0, 0, 0]])]),
    "treelstm.CRowAddTable": (nn.treelstm.CRowAddTable, [v(4, 3), v(3)]),
}

# Class: a function that makes a criterion, its input and its target.
CRITERIONS = {
    "SqrtHingeEmbeddingCriterion": (
        nn.lookup("SqrtHingeEmbeddingCriterion"),
        v(4),
        rl.tensor([1.0, -1, 1, -1]).double(),
    ),
    "nn.TripletEmbeddingCriterion": (
        nn.TripletEmbeddingCriterion,
        [v(3, 4), v(3, 4, seed=1), v(3, 4, seed=2)],
        None,
    ),
    "autograd.nn.criterion.AutoMSE": (
        nn.lookup("autograd.nn.criterion.AutoMSE"),
        v(3),
        v(3, seed=1),
    ),
    "nn.AdaptiveLoss": (
        lambda: nn.AdaptiveLoss([2, 4]),
        [v(3, 3), v(1, 2)],
        rl.tensor([1, 4, 2]),
    ),
    "nn.BBoxRegressionCriterion": (
        nn.BBoxRegressionCriterion,
        v(2, 12),
        [rl.tensor([2, 3]), v(2, 12, seed=1)],
    ),
    "nn.BCECriterion2": (nn.BCECriterion2, v(4).sigmoid(), v(4, seed=1).sigmoid()),
    "nn.BoxRegressionCriterion": (
        nn.BoxRegressionCriterion,
        [boxes(3), v(3, 4)],
        boxes(3, seed=1),
    ),
    "nn.CtcCriterion": (nn.CtcCriterion, v(2, 5, 4).log_softmax(2), WORDS),
    "nn.EPECriterion": (nn.EPECriterion, v(1, 2, 3, 3), v(1, 2, 3, 3, seed=1)),
    "nn.GaussianCriterion": (nn.GaussianCriterion, GAUSSIANS, v(3, 4, seed=2)),
    "nn.HuberCriterion": (nn.HuberCriterion, v(4), v(4, seed=1)),
    "nn.LogisticCriterion": (nn.LogisticCriterion, v(3, 2), rl.tensor([0, 2, 1])),
    "nn.Margin2": (lambda: nn.Margin2(0.2), v(4, 1, 1, 1), None),
    "nn.OurCrossEntropyCriterion": (nn.OurCrossEntropyCriterion, v(3, 2), rl.tensor([1, 2, 1])),
    "nn.TVLossCriterion": (nn.TVLossCriterion, IMAGE, None),
}

# What comes from files alone, prints, gives no tensor, or takes a target with its input.
NOT_MADE = {
    "AvgpoolModel",
    "BLSTMModel",
    "ConvModel",
    "FConvModel",
    "SelectionBLSTMModel",
    "DenseCapModel",
    "nn.HLogSoftMax",
    "nn.LocalizationLayer",
    "nn.Print",
    "nn.PyramidPacker",
    "nn.PyramidUnPacker",
    "nn.ResidualDrop",
    "nn.cnnModel",
    "nn.phrase_level",
    "nn.ques_level",
    "nn.recursive_atten",
    "nn.word_level",
    "unsup.AutoEncoder",
    "unsup.ConvPSD",
    "unsup.FistaL1",
    "unsup.LinearFistaL1",
    "unsup.LinearPSD",
    "unsup.PSD",
    "unsup.SparseAutoEncoder",
    "unsup.SpatialConvFistaL1",
    "unsup.UnsupModule",
}
