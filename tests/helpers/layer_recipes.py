"""How to make every layer that no golden case holds, and an input that it takes."""

import numpy as np
import project_layer_recipes

import relume as rl
from relume import legacy_nn as nn


def v(*shape, seed=0):
    """Random doubles."""
    return rl.tensor(np.random.default_rng(seed).standard_normal(shape))


def positive(*shape):
    return v(*shape).abs() + 0.1


def i(*numbers):
    return rl.tensor(list(numbers))


def linear():
    return nn.Linear(3, 2)


def steps(size=3):
    return v(4, 2, size)


def onmt_encoder(size=4, inputs=None):
    c, h, x = (nn.Identity()() for _ in range(3))
    vectors = x if inputs else nn.onmt.WordEmbedding(9, size)(x)
    net = nn.gModule([c, h, x], [nn.onmt.LSTM(1, inputs or size, size)([c, h, vectors])])
    return nn.onmt.Encoder(net, rl.Table({"rnnSize": size, "numStates": 2}))


def onmt_both(inputs=None):
    pair = (onmt_encoder(2, inputs), onmt_encoder(2, inputs))
    return nn.onmt.BiEncoder(*pair, rl.Table({"brnn_merge": "concat"}))


def onmt_pyramid(cls):
    return cls(
        [onmt_both(), onmt_both(4)], rl.Table({"pdbrnn_reduction": 1, "pdbrnn_merge": "sum"})
    )


def onmt_decoder():
    c, h, x, context = (nn.Identity()() for _ in range(4))
    vectors = nn.onmt.WordEmbedding(9, 4)(x)
    cell = nn.onmt.LSTM(1, 4, 4)([c, h, vectors])
    next_c, next_h = cell.split(2)
    output = nn.onmt.GlobalAttention({}, 4)([next_h, context])
    net = nn.gModule([c, h, x, context], [next_c, next_h, output])
    args = rl.Table({"rnnSize": 4, "numStates": 2})
    return nn.onmt.Decoder(net, nn.onmt.Generator(4, [9]), args)


def onmt_convolutions():
    words, lengths = nn.Identity()(), nn.Identity()()
    places = nn.onmt.PositionEmbedding(2, 3, 4)([nn.onmt.WordEmbedding(9, 4)(words), lengths])
    return nn.onmt.CNNEncoder(nn.gModule([words, lengths], [places]))


def translation():
    return nn.onmt.Seq2Seq(rl.Table({"encoder": onmt_encoder(), "decoder": onmt_decoder()}))


def push_and_pull():
    push = nn.PushTable(2)
    net = nn.Sequential().add(push).add(nn.SelectTable(1)).add(nn.Tanh())
    return net.add(push.pull(1))


WORDS = i(5, 2, 3).reshape((3, 1))
BOXES = rl.tensor([[1.0, 1, 1, 4, 4], [1, 2, 2, 3, 5]]).double()
IMAGE, IMAGES = v(2, 6, 8), v(2, 3, 6, 8)
PAIR = [v(3, 4), v(3, 4, seed=1)]

# Class: a function that makes a layer, its input.
LAYERS = {
    "OneHot": (lambda: nn.lookup("OneHot")(4), i(1, 4, 2)),
    "bnn.Binary": (lambda: nn.bnn.Binary(), v(3)),
    "cudnn.SpatialBias": (lambda: nn.cudnn.SpatialBias(3), IMAGES),
    "cudnn.VolumetricLogSoftMax": (lambda: nn.cudnn.VolumetricLogSoftMax(), v(2, 3, 2, 2, 2)),
    "cudnn.VolumetricSoftMax": (lambda: nn.cudnn.VolumetricSoftMax(), v(2, 3, 2, 2, 2)),
    **{
        f"cudnn.{name}": (lambda name=name: getattr(nn.cudnn, name)(3, 2, 1), steps())
        for name in ("BGRU", "BLSTM", "GRU", "LSTM", "RNNReLU", "RNNTanh")
    },
    "cudnn.BatchBRNN": (lambda: nn.cudnn.BatchBRNN(3, 2), steps()),
    "cudnn.BatchBRNNReLU": (lambda: nn.cudnn.BatchBRNNReLU(3, 2), steps()),
    "fbcoco.ImageTransformer": (
        lambda: nn.fbcoco.ImageTransformer([1.0] * 3, [2.0] * 3),
        IMAGES[0],
    ),
    "fbnn.Constant": (lambda: nn.fbnn.Constant(3), v(2, 3)),
    "fbnn.Dropout": (lambda: nn.fbnn.Dropout(), v(2, 3)),
    "fbnn.IndividualDropout": (lambda: nn.fbnn.IndividualDropout(v(3) * 0), v(2, 3)),
    "fbnn.L2Normalize": (lambda: nn.fbnn.L2Normalize(), v(2, 3)),
    "fbnn.LeakyReLU": (lambda: nn.fbnn.LeakyReLU(0.1), v(2, 3)),
    "fbnn.NestedDropout": (lambda: nn.fbnn.NestedDropout(0.1), v(2, 3)),
    "fbnn.NormalizedLinearNoBias": (lambda: nn.fbnn.NormalizedLinearNoBias(3, 2), v(2, 3)),
    "fbnn.Probe": (lambda: nn.fbnn.Probe(linear()), v(2, 3)),
    "fbnn.ProjectiveGradientNormalization": (
        lambda: nn.fbnn.ProjectiveGradientNormalization(),
        v(2, 3),
    ),
    "fbnn.SegSparseLinear": (lambda: nn.fbnn.SegSparseLinear(5, 2), [i(1, 2), i(3, 5), v(2)]),
    "fbnn.SparseLinear": (lambda: nn.fbnn.SparseLinear(5, 2), [i(3, 5), v(2)]),
    "fbnn.SpatialFoveaCuda": (
        lambda: nn.fbnn.SpatialFoveaCuda(2, [1, 2], [nn.Tanh(), nn.Tanh()]),
        IMAGE,
    ),
    "inn.ConstAffine": (lambda: nn.inn.ConstAffine(3), IMAGES),
    "inn.MeanSubtraction": (lambda: nn.inn.MeanSubtraction(v(3, 1, 1)), IMAGES),
    "inn.ROIPooling": (lambda: nn.inn.ROIPooling(2, 2), [IMAGES, BOXES]),
    "inn.ROIWarping": (lambda: nn.inn.ROIWarping(2, 2), [IMAGES, BOXES]),
    "inn.SpatialPyramidPooling": (lambda: nn.inn.SpatialPyramidPooling([1, 1], [2, 2]), IMAGES),
    "inn.SpatialSameResponseNormalization": (
        lambda: nn.inn.SpatialSameResponseNormalization(3),
        IMAGES,
    ),
    "inn.SpatialStochasticPooling": (
        lambda: nn.inn.SpatialStochasticPooling(2, 2),
        positive(2, 4, 4),
    ),
    "nn.AffineGridGeneratorBHWD": (lambda: nn.AffineGridGeneratorBHWD(3, 4), v(2, 2, 3)),
    "nn.AffineTransformMatrixGenerator": (
        lambda: nn.AffineTransformMatrixGenerator(True, True, True),
        v(2, 4),
    ),
    "nn.BBoxNorm": (lambda: nn.BBoxNorm(v(4), positive(4)), v(3, 8)),
    "nn.Balance": (lambda: nn.Balance(2), positive(3, 4)),
    "nn.BilinearSamplerBHWD": (
        lambda: nn.BilinearSamplerBHWD(),
        [v(2, 4, 5, 3), v(2, 3, 3, 2)],
    ),
    "nn.BinActiveZ": (lambda: nn.BinActiveZ(), v(2, 3)),
    "nn.CachingLookupTable": (lambda: nn.CachingLookupTable(nn.LookupTable(5, 2), 3), i(1, 5)),
    "nn.ContentLoss": (lambda: nn.ContentLoss(1.0), IMAGE),
    "nn.ContextRegion": (lambda: nn.ContextRegion(1.5), BOXES),
    "nn.ConvertFrom": (lambda: nn.ConvertFrom(), [BOXES, v(2, 4)]),
    "nn.CostVolMulti": (lambda: nn.CostVolMulti(3, True), [v(1, 1, 4, 4), v(1, 1, 4, 4)]),
    "nn.CrossMapNormalization": (lambda: nn.CrossMapNormalization(3), IMAGES),
    "nn.DataParallel": (lambda: nn.DataParallel(1).add(linear()), v(2, 3)),
    "nn.DataParallelTable": (lambda: nn.DataParallelTable(1).add(linear(), 1), v(2, 3)),
    "nn.DeepDreamLoss": (lambda: nn.DeepDreamLoss(1.0), IMAGE),
    "nn.DifferenceOfGaussian": (lambda: nn.DifferenceOfGaussian(2, 2, 2), IMAGE),
    "nn.DropoutEx": (lambda: nn.DropoutEx(), v(2, 3)),
    "nn.ExpOut": (lambda: nn.ExpOut(v(4)), v(2, 4)),
    "nn.ExpandAs": (lambda: nn.ExpandAs(), [v(2, 3), v(2, 1)]),
    "nn.FasterLookup": (lambda: nn.FasterLookup(5, 2), i(1, 5)),
    "nn.FeatExpander": (lambda: nn.FeatExpander(2), v(2, 3)),
    "nn.Foveal": (lambda: nn.Foveal(), BOXES),
    "nn.FunctionWrapper": (
        lambda: nn.FunctionWrapper(lambda m: None, lambda m, x: x * 2, lambda m, x, g: g * 2),
        v(3),
    ),
    "nn.GenNoise": (lambda: nn.GenNoise(4), IMAGES),
    "nn.GramMatrix": (lambda: nn.GramMatrix(), IMAGE),
    "nn.GroupKMaxPooling": (lambda: nn.GroupKMaxPooling(2), v(4, 3)),
    "nn.HalfPrecision": (lambda: nn.HalfPrecision(), v(3)),
    "nn.InstanceNormalization": (lambda: nn.InstanceNormalization(3), IMAGES),
    "nn.KMaxPooling": (lambda: nn.KMaxPooling(2), v(4, 3)),
    "nn.LanguageModel": (lambda: nn.LanguageModel(["a", "b"], rnn_size=3), i(1, 2).reshape((1, 2))),
    "nn.LaplacianOfGaussian": (lambda: nn.LaplacianOfGaussian(2, 1), v(2, 12, 12)),
    "nn.LinearNB": (lambda: nn.LinearNB(3, 2), v(2, 3)),
    "nn.LinearNoBackprop": (lambda: nn.LinearNoBackprop(3, 2), v(2, 3)),
    "nn.LinearRNN": (lambda: nn.LinearRNN(3, 2), v(2, 3)),
    "nn.LocallyConnected": (lambda: nn.LocallyConnected(2, 8, 6, 3, 2, 2), IMAGE),
    "nn.LookupRNN": (lambda: nn.LookupRNN(5, 2), i(1, 5)),
    "nn.LookupTableGPU": (lambda: nn.LookupTableGPU(5, 2), i(1, 5)),
    "nn.Minus": (lambda: nn.Minus(), v(3)),
    "nn.ModeSwitch": (lambda: nn.ModeSwitch(nn.Tanh(), nn.Tanh()), v(3)),
    "nn.ModelParallel": (lambda: nn.ModelParallel(2).add(linear(), 1).add(linear(), 1), v(2, 3)),
    "nn.ModuleFromCriterion": (lambda: nn.ModuleFromCriterion(nn.MSECriterion()), PAIR),
    "nn.MulConstantSlices": (lambda: nn.MulConstantSlices(v(3)), v(3, 2)),
    "nn.MultiSoftMax": (lambda: nn.MultiSoftMax(), v(2, 3)),
    "nn.NoBackprop": (lambda: nn.NoBackprop(linear()), v(2, 3)),
    "nn.NoiseFill": (lambda: nn.NoiseFill(2), IMAGES),
    "nn.Normalize2": (lambda: nn.Normalize2(), IMAGES),
    "nn.OneBitDataParallel": (lambda: nn.OneBitDataParallel(1).add(linear()), v(2, 3)),
    "nn.PixelSort": (lambda: nn.PixelSort(2), IMAGE),
    "nn.Probe": (lambda: nn.Probe("p"), v(3)),
    "nn.PushTable": (push_and_pull, [v(3), v(2)]),
    "nn.RecGRU": (lambda: nn.RecGRU(3, 2), v(2, 3)),
    "nn.RecLSTM": (lambda: nn.RecLSTM(3, 2), v(2, 3)),
    "nn.ReinforceGamma": (lambda: nn.ReinforceGamma(2.0), positive(2, 3)),
    "nn.ReverseSequence": (lambda: nn.ReverseSequence(), steps()),
    "nn.ReverseUnreverse": (lambda: nn.ReverseUnreverse(nn.SeqLSTM(3, 2)), steps()),
    "nn.SaturatedLU": (lambda: nn.SaturatedLU(), v(3)),
    "nn.SelectBoxes": (lambda: nn.SelectBoxes(), [v(3, 2), v(3, 8)]),
    "nn.SeqBGRU": (lambda: nn.SeqBGRU(3, 2), steps()),
    "nn.SeqBLSTM": (lambda: nn.SeqBLSTM(3, 2), steps()),
    "nn.SequentialSplitBatch": (lambda: nn.SequentialSplitBatch(2).add(linear()), v(4, 3)),
    "nn.ShaveImage": (lambda: nn.ShaveImage(1), IMAGES),
    "nn.SoftMaxForest": (
        lambda: nn.SoftMaxForest(2, [{1: [2, 3]}, {9: [3, 2]}], [1, 9]),
        [v(2, 2), i(2, 3)],
    ),
    "nn.SoftMaxTree": (lambda: nn.SoftMaxTree(2, {1: [2, 3]}, 1), [v(2, 2), i(2, 3)]),
    "nn.SparseConverter": (lambda: nn.SparseConverter("DtoS", "StoD", 4), v(4)),
    "nn.SparseKmax": (lambda: nn.SparseKmax(3, 4, 9, 2, 5), rl.tensor([[2.0, 1.5]]).double()),
    "nn.SparseLookupTable": (
        lambda: nn.SparseLookupTable(rl.tensor([[1, 5], [2, 3]])),
        rl.tensor([[2.0, 1.5]]).double(),
    ),
    "nn.SparseSum": (lambda: nn.SparseSum(), v(2, 3, 2)),
    "nn.SparseThreshold": (lambda: nn.SparseThreshold(0.5, 0), v(3, 2)),
    "nn.SpatialClassifier": (lambda: nn.SpatialClassifier(linear()), IMAGES),
    "nn.SpatialColorTransform": (lambda: nn.SpatialColorTransform("rgb2yuv"), IMAGES),
    "nn.SpatialConstDiagonal": (lambda: nn.SpatialConstDiagonal(3), IMAGES),
    "nn.SpatialConvolution1_fw": (lambda: nn.SpatialConvolution1_fw(3, 2), IMAGES),
    "nn.SpatialConvolutionCuFFT": (lambda: nn.SpatialConvolutionCuFFT(3, 2, 3, 3), IMAGES),
    "nn.SpatialDownSampling": (lambda: nn.SpatialDownSampling(2, 2), IMAGES),
    "nn.SpatialFovea": (lambda: nn.SpatialFovea(2, [1, 2], [nn.Tanh(), nn.Tanh()]), IMAGE),
    "nn.SpatialGraph": (lambda: nn.SpatialGraph(), IMAGE),
    "nn.SpatialLinear": (lambda: nn.SpatialLinear(3, 2), IMAGES),
    "nn.SpatialMatching": (lambda: nn.SpatialMatching(3, 3), [v(2, 5, 6), v(2, 5, 6)]),
    "nn.SpatialMaxSampling": (lambda: nn.SpatialMaxSampling(3, 2), IMAGE),
    "nn.SpatialNormalization": (lambda: nn.SpatialNormalization(2, rl.ones(3, 3).double()), IMAGE),
    "nn.SpatialPadding": (lambda: nn.SpatialPadding(1, 1, 1, 1), IMAGE),
    "nn.SpatialPyramid": (lambda: nn.SpatialPyramid([1, 2], [nn.Tanh(), nn.Tanh()], 1, 1), IMAGE),
    "nn.SpatialRadialMatching": (lambda: nn.SpatialRadialMatching(2), [v(2, 4, 3), v(2, 5, 3)]),
    "nn.SpatialReSampling": (lambda: nn.SpatialReSampling(owidth=3, oheight=4), IMAGE),
    "nn.SpatialReSamplingEx": (lambda: nn.SpatialReSamplingEx(owidth=3, oheight=4), IMAGE),
    "nn.SpatialSymmetricPadding": (lambda: nn.SpatialSymmetricPadding(1, 1, 1, 1), IMAGES),
    "nn.SpatialUpSampling": (lambda: nn.SpatialUpSampling(2, 2), IMAGES),
    "nn.StepGRU": (lambda: nn.StepGRU(3, 2), [v(2, 3), v(2, 2)]),
    "nn.StepLSTM": (lambda: nn.StepLSTM(3, 2), [v(2, 3), v(2, 2), v(2, 2)]),
    "nn.StereoJoin": (lambda: nn.StereoJoin(3), v(2, 3, 4, 5)),
    "nn.StereoJoin1": (lambda: nn.StereoJoin1(), v(2, 3, 4, 5)),
    "nn.StyleLoss": (lambda: nn.StyleLoss(1.0), IMAGE),
    "nn.TVLoss": (lambda: nn.TVLoss(1.0), IMAGE),
    "nn.TemporalAdapter": (lambda: nn.TemporalAdapter(linear()), v(2, 4, 3)),
    "nn.TemporalConvolutionFB": (lambda: nn.TemporalConvolutionFB(3, 2, 2), v(4, 3)),
    "nn.TemporalConvolutionTBC": (lambda: nn.TemporalConvolutionTBC(3, 2, 2), steps()),
    "nn.TemporalKMaxPooling": (lambda: nn.TemporalKMaxPooling(2), v(4, 3)),
    "nn.Tic": (lambda: nn.Tic("recipe"), v(3)),
    "nn.Toc": (lambda: nn.Sequential().add(nn.Tic("recipe")).add(nn.Toc("recipe")), v(3)),
    "nn.TotalVariation": (lambda: nn.TotalVariation(1.0), IMAGES),
    "nn.Type": (lambda: nn.Type("Float").add(linear()), v(2, 3)),
    "nn.UnfoldedTemporalConvolution": (lambda: nn.UnfoldedTemporalConvolution(3, 2, 2), v(4, 3)),
    "nn.Unpool": (lambda: nn.Unpool(2, 2, 3, 4, 3), v(2, 2, 3, 4)),
    "nn.Upsample": (lambda: nn.Upsample(2), IMAGES),
    "nn.VanillaRNN": (lambda: nn.VanillaRNN(3, 2), v(2, 4, 3)),
    "nn.VariableLength": (lambda: nn.VariableLength(nn.SeqLSTM(3, 2)), [v(4, 3), v(2, 3)]),
    "nn.WeightedLookupTable": (
        lambda: nn.WeightedLookupTable(5, 2),
        rl.tensor([[2.0, 1.5]]).double(),
    ),
    "nngraph.JustElement": (lambda: nn.nngraph.JustElement(), [v(3)]),
    "nngraph.JustTable": (lambda: nn.nngraph.JustTable(), v(3)),
    "nnx.QDRiemaNNLinear": (lambda: nn.nnx.QDRiemaNNLinear(3, 2), v(2, 3)),
    "onmt.BiEncoder": (onmt_both, WORDS),
    "onmt.Bridge": (lambda: nn.onmt.Bridge(nn.MapTable(nn.Identity())), PAIR),
    "onmt.CNNEncoder": (onmt_convolutions, WORDS),
    "onmt.DBiEncoder": (lambda: onmt_pyramid(nn.onmt.DBiEncoder), WORDS),
    "onmt.Decoder": (onmt_decoder, [WORDS, [v(1, 4), v(1, 4)], v(1, 3, 4)]),
    "onmt.Encoder": (onmt_encoder, WORDS),
    "onmt.GRU": (lambda: nn.onmt.GRU(1, 3, 2), [v(2, 2), v(2, 3)]),
    "onmt.Generator": (lambda: nn.onmt.Generator(3, [4]), v(2, 3)),
    "onmt.GlobalAttention": (lambda: nn.onmt.GlobalAttention({}, 3), [v(2, 3), v(2, 4, 3)]),
    "onmt.GoogleEncoder": (
        lambda: nn.onmt.GoogleEncoder(onmt_both(), onmt_encoder(4, 4), rl.Table()),
        WORDS,
    ),
    "onmt.JoinReplicateTable": (
        lambda: nn.onmt.JoinReplicateTable(2, 3),
        [v(2, 1, 3), v(2, 4, 2)],
    ),
    "onmt.LSTM": (lambda: nn.onmt.LSTM(1, 3, 2), [v(2, 2), v(2, 2), v(2, 3)]),
    "onmt.MaskedSoftmax": (lambda: nn.onmt.MaskedSoftmax([1, 2], 2), v(2, 2)),
    "onmt.Network": (lambda: nn.onmt.Network(linear()), v(2, 3)),
    "onmt.NoAttention": (lambda: nn.onmt.NoAttention(None, 3), [v(2, 3), v(2, 4, 3)]),
    "onmt.PDBiEncoder": (lambda: onmt_pyramid(nn.onmt.PDBiEncoder), WORDS),
    "onmt.PositionEmbedding": (lambda: nn.onmt.PositionEmbedding(1, 3, 2), i(5, 6, 7)),
    "onmt.Seq2Seq": (translation, [WORDS, WORDS]),
    "onmt.VariationalDropout": (lambda: nn.onmt.VariationalDropout(0.5), v(2, 3)),
    "onmt.WordEmbedding": (lambda: nn.onmt.WordEmbedding(5, 2), i(1, 5)),
    "w2nn.AuxiliaryLossTable": (lambda: nn.w2nn.AuxiliaryLossTable(1), PAIR),
    "w2nn.DepthExpand2x": (lambda: nn.w2nn.DepthExpand2x(), v(2, 4, 3, 3)),
    "w2nn.EdgeFilter": (lambda: nn.w2nn.EdgeFilter(3), IMAGES),
    "w2nn.GradWeight": (lambda: nn.w2nn.GradWeight(0.5), v(3)),
    "w2nn.InplaceClip01": (lambda: nn.w2nn.InplaceClip01(), v(3)),
    "w2nn.LeakyReLU": (lambda: nn.w2nn.LeakyReLU(), v(3)),
    "w2nn.Print": (lambda: nn.w2nn.Print(), v(3)),
    "w2nn.PrintTable": (lambda: nn.w2nn.PrintTable(), PAIR),
    "w2nn.RandomBinaryConvolution": (
        lambda: nn.w2nn.RandomBinaryConvolution(3, 2, 3, 3),
        IMAGES,
    ),
    "w2nn.ScaleTable": (lambda: nn.w2nn.ScaleTable(), [IMAGES, v(2, 3, 1, 1)]),
    "w2nn.ShakeShakeTable": (lambda: nn.w2nn.ShakeShakeTable(), PAIR),
}

MAPPING = [[1, 1], [2, 1], [1, 2]]
# Class: a function that makes a criterion, its input, its target.
CRITERIONS = {
    "cudnn.SpatialCrossEntropyCriterion": (
        lambda: nn.cudnn.SpatialCrossEntropyCriterion(),
        v(1, 3, 2, 2),
        rl.ones(1, 2, 2),
    ),
    "cudnn.VolumetricCrossEntropyCriterion": (
        lambda: nn.cudnn.VolumetricCrossEntropyCriterion(),
        v(1, 3, 2, 2, 2),
        rl.ones(1, 2, 2, 2),
    ),
    "nn.CTCCriterion": (lambda: nn.CTCCriterion(), v(4, 2, 3), [[1, 2], [2]]),
    "nn.ClassHierarchicalNLLCriterion": (
        lambda: nn.ClassHierarchicalNLLCriterion(rl.tensor(MAPPING), i(2, 1), 4),
        v(4),
        2,
    ),
    "nn.ClassNLLCriterionWithUNK": (lambda: nn.ClassNLLCriterionWithUNK(3), v(2, 3), i(1, 3)),
    "nn.DistMarginCriterion": (
        lambda: nn.DistMarginCriterion(),
        v(2, 3),
        rl.tensor([[2.0, 0, 0], [1, 3, 0]]),
    ),
    "nn.DistNLLCriterion": (lambda: nn.DistNLLCriterion(), v(2, 3), positive(2, 3)),
    "nn.HSM": (lambda: nn.HSM(MAPPING, 4), v(2, 4), i(1, 3)),
    "nn.LanguageModelCriterion": (
        lambda: nn.LanguageModelCriterion(),
        v(4, 2, 5),
        rl.tensor([[1, 2], [2, 0]]),
    ),
    "nn.SequentialCriterion": (
        lambda: nn.SequentialCriterion(linear(), nn.MSECriterion()),
        v(2, 3),
        v(2, 2),
    ),
    "nn.SoftPlusLSECriterion": (lambda: nn.SoftPlusLSECriterion(), v(2, 3), None),
    "nn.SoftPlusLSEMinusLSECriterion": (lambda: nn.SoftPlusLSEMinusLSECriterion(), v(2, 3), None),
    "nn.SparseNLLCriterion": (
        lambda: nn.SparseNLLCriterion(2),
        v(1, 3),
        [rl.tensor([[0.5, 0.5]]).double(), rl.tensor([[1, 3]])],
    ),
    "nn.SparseCriterion": (lambda: nn.SparseCriterion(), v(3), None),
    "nn.SpatialSparseCriterion": (lambda: nn.SpatialSparseCriterion(), v(2, 3, 3), None),
    "nn.SpatialMSECriterion": (lambda: nn.SpatialMSECriterion(), v(2, 3, 3), v(2, 3, 3)),
    "nn.SuperCriterion": (
        lambda: nn.SuperCriterion().add(nn.MSECriterion()).add(nn.AbsCriterion()),
        PAIR,
        PAIR[0],
    ),
    "nn.TemporalCrossEntropyCriterion": (
        lambda: nn.TemporalCrossEntropyCriterion(),
        v(1, 2, 3),
        rl.tensor([[3, 0]]),
    ),
    "nn.TreeNLLCriterion": (lambda: nn.TreeNLLCriterion(), v(3), None),
    "nn.TrueNLLCriterion": (lambda: nn.TrueNLLCriterion(), v(2, 3), i(1, 3)),
    "onmt.ParallelClassNLLCriterion": (
        lambda: nn.onmt.ParallelClassNLLCriterion([3]),
        [v(2, 3)],
        [i(2, 3)],
    ),
    "onmt.SentenceNLLCriterion": (
        lambda: nn.onmt.SentenceNLLCriterion({}, 5),
        v(1, 5, 2),
        rl.tensor([[3, 2, 4]]),
    ),
    "w2nn.AuxiliaryLossCriterion": (
        lambda: nn.w2nn.AuxiliaryLossCriterion(nn.MSECriterion),
        PAIR,
        v(3, 4),
    ),
    "w2nn.ClippedMSECriterion": (lambda: nn.w2nn.ClippedMSECriterion(), *PAIR),
    "w2nn.ClippedWeightedHuberCriterion": (
        lambda: nn.w2nn.ClippedWeightedHuberCriterion(v(3, 4)),
        *PAIR,
    ),
    "w2nn.L1Criterion": (lambda: nn.w2nn.L1Criterion(), *PAIR),
    "w2nn.LBPCriterion": (lambda: nn.w2nn.LBPCriterion(3, 4), IMAGES, IMAGES),
    "w2nn.PSNRCriterion": (lambda: nn.w2nn.PSNRCriterion(), *PAIR),
    "w2nn.RandomBinaryCriterion": (lambda: nn.w2nn.RandomBinaryCriterion(3, 4), IMAGES, IMAGES),
    "w2nn.SSIMCriterion": (lambda: nn.w2nn.SSIMCriterion(3, 3), IMAGES, IMAGES),
    "w2nn.WeightedHuberCriterion": (lambda: nn.w2nn.WeightedHuberCriterion(v(3, 4)), *PAIR),
    "w2nn.WeightedMSECriterion": (lambda: nn.w2nn.WeightedMSECriterion(v(3, 4)), *PAIR),
}

# What cannot be made without a file, is the base of others, or runs inside of others alone.
NOT_MADE = {
    "cudnn.RNN",  # a base
    "nn.AbstractParallel",  # other names
    "nn.AbstractRecurrent",
    "nn.AbstractSequencerCriterion",
    "nn.DeepMask",  # come from files
    "nn.DenseConnectLayerCustom",
    "nn.Dictionary",
    "nn.PerceptualCriterion",
    "nn.PullTable",  # a PushTable makes it
    "nn.Reinforce",
    "nn.ShakeShakeBlock",
    "nn.SharpMask",
    "onmt.Attention",  # wrap a network from a file
    "onmt.ContextGateAttention",
    "onmt.FeaturesEmbedding",
    "onmt.FeaturesGenerator",
    "onmt.LayerNormalization",
    "onmt.RecurrentBatchNorm",
    "onmt.VDropout",
}

LAYERS |= project_layer_recipes.LAYERS
CRITERIONS |= project_layer_recipes.CRITERIONS
NOT_MADE |= project_layer_recipes.NOT_MADE
