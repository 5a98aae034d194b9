"""Which public package or project defines a Torch class, by the class's name."""

from __future__ import annotations

from typing import NamedTuple


class Package(NamedTuple):
    """Where a class comes from.

    Attributes:
        name: of the package or project.
        address: its repository on GitHub, owner/name; "" where there are many.
    """

    name: str
    address: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.address})" if self.address else self.name


RNN = Package("the rnn package", "Element-Research/rnn")
DPNN = Package("the dpnn package", "Element-Research/dpnn")
NNX = Package("the nnx package", "clementfarabet/lua---nnx")
CUNN = Package("the cunn package", "torch/cunn")
STN = Package("the spatial transformer package", "qassemoquab/stnbhwd")
FBCUNN = Package("the fbcunn package", "facebook/fbcunn")
FBNN = Package("the fbnn package", "facebook/fbnn")
MULTIPATHNET = Package("multipathnet", "facebookresearch/multipathnet")
NEURAL_STYLE = Package("neural-style", "jcjohnson/neural-style")
TORCH_RNN = Package("torch-rnn", "jcjohnson/torch-rnn")
STEREO = Package("mc-cnn", "jzbontar/mc-cnn")
XNOR = Package("XNOR-Net", "allenai/XNOR-Net")

# By the part of the name before the last dot.
PREFIXES = {
    "autograd": Package("the autograd package", "twitter/torch-autograd"),
    "bnn": Package("binary networks", "1adrianb/binary-human-pose-estimation"),
    "cudnn": Package("the cudnn bindings", "soumith/cudnn.torch"),
    "ccn2": Package("the cuda-convnet2 bindings", "soumith/cuda-convnet2.torch"),
    "cunn": CUNN,
    "dp": Package("the dp package", "nicholas-leonard/dp"),
    "dpnn": DPNN,
    "fbcunn": FBCUNN,
    "fbnn": FBNN,
    "inn": Package("the imagine-nn package", "szagoruyko/imagine-nn"),
    "lbcnn": Package("local binary networks", "juefeix/lbcnn.torch"),
    "nngraph": Package("the nngraph package", "torch/nngraph"),
    "nnx": NNX,
    "onmt": Package("OpenNMT", "OpenNMT/OpenNMT"),
    "optim": Package("the optim package", "torch/optim"),
    "optnet": Package("the optnet package", "fmassa/optimize-net"),
    "signal": Package("the signal package", "soumith/torch-signal"),
    "stn": STN,
    "tds": Package("the tds package", "torch/tds"),
    "tnt": Package("the torchnet package", "torchnet/torchnet"),
    "treelstm": Package("treelstm", "stanfordnlp/treelstm"),
    "unsup": Package("the unsup package", "koraykv/unsup"),
    "w2nn": Package("waifu2x", "nagadomi/waifu2x"),
}

# Classes that are called nn.X, or have no prefix, although Torch's nn does not have them.
_BY_PACKAGE = {
    RNN: """nn.AbstractRecurrent nn.AbstractSequencer nn.BiSequencer nn.BiSequencerLM nn.CopyGrad
        nn.AbstractSequencerCriterion nn.ExpandAs nn.FastLSTM nn.GRU nn.LSTM nn.LinearNoBias
        nn.LinearRNN nn.LookupRNN nn.LookupTableMaskZero nn.MaskZero nn.MaskZeroCriterion nn.MuFuRu
        nn.Mufuru nn.NormStabilizer nn.RecGRU nn.RecLSTM nn.Recurrence nn.Recurrent
        nn.RecurrentAttention nn.Recursor nn.Repeater nn.RepeaterCriterion nn.ReverseSequence
        nn.ReverseUnreverse nn.SAdd nn.SeqBGRU nn.SeqBLSTM nn.SeqBRNN nn.SeqGRU nn.SeqLSTM
        nn.SeqLSTMP nn.SeqReverseSequence nn.Sequencer nn.SequencerCriterion nn.StepGRU
        nn.StepLSTM nn.TrimZero nn.VariableLength""",
    DPNN: """nn.ArgMax nn.BinaryClassReward nn.BinaryLogisticRegression nn.CAddTensorTable
        nn.CategoricalEntropy nn.Clip nn.Convert nn.Dictionary nn.FireModule nn.Inception
        nn.ModuleCriterion nn.NCECriterion nn.NCEModule nn.OneHot nn.PCAColorTransform
        nn.PrintSize nn.Reinforce nn.ReinforceBernoulli nn.ReinforceCategorical nn.ReinforceGamma
        nn.ReinforceNormal nn.ReverseTable nn.Serial nn.SimpleColorTransform
        nn.SpatialBinaryConvolution nn.SpatialBinaryLogisticRegression nn.SpatialConvolutionUpsample
        nn.SpatialFeatNormalization nn.SpatialGlimpse nn.SpatialRegionDropout nn.SpatialUniformCrop
        nn.TotalDropout nn.VRClassReward nn.ZipTable""",
    NNX: """nn.Balance nn.CTCCriterion nn.ConfusionMatrix nn.DataList nn.DataSetLabelMe
        nn.FunctionWrapper nn.HardShrink nn.LA nn.Minus nn.MultiSoftMax nn.OmpModule
        nn.PixelSort nn.Probe nn.PushTable nn.PullTable nn.QDRiemaNNLinear nn.SoftMaxForest
        nn.SoftMaxTree nn.SpatialClassifier nn.SpatialColorTransform nn.SpatialDownSampling
        nn.SpatialFovea nn.SpatialGraph nn.SpatialLinear nn.SpatialMatching
        nn.SpatialMaxSampling nn.SpatialNormalization nn.SpatialPadding nn.SpatialPyramid
        nn.SpatialRadialMatching nn.SpatialReSampling nn.SpatialReSamplingEx
        nn.SpatialRecursiveFovea nn.SpatialSparseCriterion nn.SpatialUpSampling
        nn.SuperCriterion nn.TreeNLLCriterion
        nn.Type nn.VolumetricMaxPoolingX""",
    CUNN: """nn.DataParallel nn.DataParallelTable nn.ModelParallel""",
    FBCUNN: """nn.AbstractParallel nn.FeatureLPPooling nn.LookupTableGPU nn.SpatialConvolutionFFT
        nn.TemporalConvolutionFB nn.WeightedLookupTable""",
    FBNN: """nn.ClassHierarchicalNLLCriterion nn.ClassNLLCriterionWithUNK nn.CrossMapNormalization
        nn.Dropout_fb nn.GroupKMaxPooling nn.HSM nn.IndividualDropout nn.KMaxPooling
        nn.L2Normalize nn.LinearNB nn.LocallyConnected nn.NestedDropout nn.Probe
        nn.ProjectiveGradientNormalization nn.SegSparseLinear nn.SequentialCriterion
        nn.SparseConverter nn.SparseKmax nn.SparseNLLCriterion nn.SparseSum nn.SparseThreshold
        nn.TrueNLLCriterion nn.UncertaintyCriterion nn.UnfoldedTemporalConvolution
        nn.WeightedLookupTable nn.Optim""",
    STN: """nn.AffineGridGeneratorBHWD nn.AffineTransformMatrixGenerator nn.BilinearSamplerBHWD
        nn.TransformMatrixGenerator nn.AffineGridGeneratorOpticalFlow""",
    MULTIPATHNET: """nn.BBoxNorm nn.BBoxRegressionCriterion nn.Foveal nn.ModeSwitch nn.NoBackprop
        nn.SelectBoxes nn.SequentialSplitBatch nn.ContextRegion nn.SplitBatch""",
    Package("DeepMask", "facebookresearch/deepmask"): "nn.DeepMask nn.SharpMask nn.SymmetricPad",
    NEURAL_STYLE: "nn.ContentLoss nn.StyleLoss nn.TVLoss nn.GramMatrix ContentLoss StyleLoss",
    Package("fast-neural-style", "jcjohnson/fast-neural-style"): """nn.ShaveImage
        nn.InstanceNormalization nn.TotalVariation nn.PerceptualCriterion""",
    Package("texture_nets", "DmitryUlyanov/texture_nets"): "nn.NoiseFill nn.GenNoise",
    TORCH_RNN: "nn.LanguageModel nn.VanillaRNN",
    Package("neuraltalk2", "karpathy/neuraltalk2"): "nn.LanguageModelCriterion nn.FeatExpander",
    Package("char-rnn", "karpathy/char-rnn"): "OneHot",
    STEREO: """nn.SpatialConvolution1_fw nn.StereoJoin nn.StereoJoin1 nn.Normalize2
        nn.Margin2 nn.BCECriterion2""",
    XNOR: "nn.BinActiveZ BinActiveZ nn.BinaryNeurons nn.BinaryLinear",
    Package(
        "deepspeech", "SeanNaren/deepspeech.torch"
    ): "cudnn.BatchBRNNReLU nn.MaskRNN nn.BatchBRNNReLU",
    Package("densenet", "liuzhuang13/DenseNet"): "nn.DenseConnectLayerCustom",
    Package("shake-shake", "xgastaldi/shake-shake"): "nn.ShakeShake nn.ShakeShakeBlock",
}
CLASSES = {name: package for package, names in _BY_PACKAGE.items() for name in names.split()}


def package_of(typename: str) -> Package | None:
    """The package that defines a class; None when no public one is known to.

    >>> from relume.legacy_nn.known_packages import package_of
    >>> str(package_of("nn.Sequencer"))
    'the rnn package (Element-Research/rnn)'
    >>> str(package_of("w2nn.LeakyReLU"))
    'waifu2x (nagadomi/waifu2x)'
    >>> package_of("nn.AddScalar") is None
    True
    """
    return CLASSES.get(typename) or PREFIXES.get(typename.partition(".")[0])
