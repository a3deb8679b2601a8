"""Importing ONNX models: every layer against a count of the reference evaluator that knows nothing of layers."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from jouleloop.api.chains import chains_in
from jouleloop.api.onnx_chains import graph_chains
from jouleloop.cli import import_onnx as command
from jouleloop.cli.app import app
from jouleloop.errors import EngineError, InputError
from jouleloop.workload import onnx_read
from jouleloop.workload.network_file import network_document, network_macs
from jouleloop.workload.onnx_layers import graph_layers, multiplicities
from jouleloop.workload.onnx_read import read_graph
from jouleloop.workload.sweep import load_network

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
reference = pytest.importorskip("onnx.reference")

runner = CliRunner()
_HEADER = '<ir_version: 8, opset_import: ["": 17]> '


def model_of(text: str, weights: dict[str, tuple[int, ...]] | None = None):
    """Return the model in ONNX's text form; ``weights`` are constants of ones."""
    model = onnx.parser.parse_model(_HEADER + text)
    for name, shape in (weights or {}).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(shape, np.float32), name))
    return model


def saved(model, tmp_path: Path, name: str = "net.onnx") -> Path:
    path = tmp_path / name
    onnx.save(model, str(path))
    return path


def document_of(path: Path, **options):
    layers, skipped = graph_layers(read_graph(path, **options))
    return network_document(multiplicities(layers), "net"), skipped


def evaluated(model, **inputs):
    return reference.ReferenceEvaluator(model).run(None, inputs)[0]


def ones(*shape: int):
    return np.ones(shape, np.float32)


#: Without padding and with ones everywhere, the sum over the output is the number of multiply-accumulates.
UNPADDED = [
    ("Conv<strides=[2,1]>(x, w)", (2, 3, 9, 7), (4, 3, 3, 2)),
    ("Conv<group=3>(x, w)", (1, 6, 5, 5), (9, 2, 3, 3)),
    ("Conv<group=6>(x, w)", (1, 6, 5, 5), (6, 1, 3, 3)),
    ("Conv<group=6, strides=[2,2]>(x, w)", (1, 6, 8, 8), (12, 1, 3, 3)),
    ('Conv<auto_pad="VALID", strides=[3,3]>(x, w)', (1, 2, 11, 8), (5, 2, 3, 3)),
    ("Conv<strides=[2]>(x, w)", (2, 4, 11), (3, 4, 5)),
    ("Conv<dilations=[2,2]>(x, w)", (1, 4, 5, 5), (3, 4, 1, 1)),
    ("Conv<dilations=[2,3], strides=[2,1]>(x, w)", (1, 4, 11, 12), (3, 4, 3, 3)),
    ("Conv<strides=[1,2,3], group=2>(x, w)", (2, 4, 6, 7, 8), (6, 2, 3, 2, 2)),
    ("ConvTranspose<strides=[2,3]>(x, w)", (2, 4, 5, 6), (4, 3, 3, 2)),
    ("ConvTranspose<strides=[2,2], dilations=[2,1]>(x, w)", (1, 4, 5, 6), (4, 3, 3, 2)),
    ("ConvTranspose<strides=[2]>(x, w)", (1, 4, 7), (4, 3, 4)),
    ('Einsum<equation="bhqd,bhkd->bhqk">(x, w)', (2, 3, 4, 6), (2, 3, 5, 6)),
    ('Einsum<equation="nij,jk->nik">(x, w)', (2, 4, 6), (6, 5)),
    ('Einsum<equation="abc,cd->dba">(x, w)', (2, 3, 6), (6, 5)),
    ("MatMul(x, w)", (4, 6), (6, 5)),
    ("MatMul(x, w)", (2, 3, 4, 6), (6, 5)),
    ("MatMul(x, w)", (2, 3, 4, 6), (2, 3, 6, 5)),
    ("MatMul(x, w)", (2, 3, 4, 6), (1, 3, 6, 5)),
    ("MatMul(x, w)", (2, 3, 4, 6), (2, 1, 6, 5)),
    ("MatMul(x, w)", (4, 6), (3, 6, 5)),
    ("MatMul(x, w)", (6,), (6, 5)),
    ("MatMul(x, w)", (3, 4, 6), (6,)),
    ("MatMul(w, x)", (6, 4), (5, 6)),
    ("MatMul(w, x)", (3, 6, 4), (5, 6)),
    ("Gemm<transA=1, transB=1>(x, w)", (6, 4), (5, 6)),
    ("Gemm(w, x)", (6, 4), (5, 6)),
]


@pytest.mark.parametrize("constant", [True, False], ids=["weights", "activations"])
@pytest.mark.parametrize(("operation", "data", "weights"), UNPADDED)
def test_macs_are_those_the_reference_evaluator_sums(operation, data, weights, constant, tmp_path):
    def tensor(name, shape):
        return f"float[{','.join(map(str, shape))}] {name}"

    inputs = tensor("x", data) + ("" if constant else ", " + tensor("w", weights))
    shape = evaluated(_typed(operation, inputs, 0, constant, weights), **_ones(data, weights, constant)).shape
    model = _typed(operation, inputs, len(shape), constant, weights)
    total = evaluated(model, **_ones(data, weights, constant)).sum()
    document, _ = document_of(saved(model, tmp_path))
    assert network_macs(document) == total


def _typed(operation, inputs, rank, constant, weights):
    dims = ",".join(f"d{i}" for i in range(rank))
    output = f"float[{dims}] y" if rank else "float y"
    return model_of(f"g ({inputs}) => ({output}) {{ y = {operation} }}", {"w": weights} if constant else None)


def _ones(data, weights, constant):
    return {"x": ones(*data)} if constant else {"x": ones(*data), "w": ones(*weights)}


PADDED = [
    ("pads=[1,1,1,1]", (8, 8), (3, 3), (1, 1)),
    ("pads=[0,1,2,3], strides=[2,3]", (9, 10), (3, 4), (2, 3)),
    ("pads=[3,3,3,3], strides=[2,2]", (224, 224), (7, 7), (2, 2)),
    ('auto_pad="SAME_UPPER", strides=[2,2]', (7, 8), (3, 3), (2, 2)),
    ('auto_pad="SAME_LOWER", strides=[2,2]', (7, 8), (3, 3), (2, 2)),
    ('auto_pad="SAME_UPPER", strides=[3,3]', (10, 11), (2, 2), (3, 3)),
    ('auto_pad="SAME_UPPER"', (5, 6), (4, 5), (1, 1)),
]


@pytest.mark.parametrize(("attributes", "size", "kernel", "strides"), PADDED)
def test_padded_convolutions_have_the_evaluated_output(attributes, size, kernel, strides, tmp_path):
    text = f"g (float[2,3,{size[0]},{size[1]}] x) => (float[n,m,h,w] y) {{ y = Conv<{attributes}>(x, k) }}"
    model = model_of(text, {"k": (4, 3, *kernel)})
    output = evaluated(model, x=ones(2, 3, *size)).shape
    document, _ = document_of(saved(model, tmp_path))
    path = tmp_path / "out.yaml"
    command.write_network(path, document)
    layer = load_network(path).points[0].layer
    # Timeloop's shape pairs P with the width, ONNX has the height first.
    assert output == (layer.sizes["N"], layer.sizes["M"], layer.sizes["Q"], layer.sizes["P"])
    assert kernel == (layer.sizes["S"], layer.sizes["R"])
    assert (layer.sizes["h_stride"], layer.sizes["w_stride"]) == strides
    assert layer.sizes["C"] == 3
    assert layer.macs == math.prod(output) * 3 * math.prod(kernel)


def test_attention_is_a_product_of_activations_for_all_heads(tmp_path):
    text = """g (float[2,7,12] x) => (float[2,3,7,4] y) {
      q0 = MatMul(x, wq)
      k0 = MatMul(x, wk)
      v0 = MatMul(x, wv)
      s = Constant<value = int64[4] {2, 7, 3, 4}>()
      q1 = Reshape(q0, s)
      k1 = Reshape(k0, s)
      v1 = Reshape(v0, s)
      q = Transpose<perm=[0,2,1,3]>(q1)
      k = Transpose<perm=[0,2,3,1]>(k1)
      v = Transpose<perm=[0,2,1,3]>(v1)
      scores = MatMul(q, k)
      p = Softmax<axis=-1>(scores)
      y = MatMul(p, v)
    }"""
    path = saved(model_of(text, dict.fromkeys(("wq", "wk", "wv"), (12, 12))), tmp_path)
    document, _ = document_of(path)
    found = [(entry["sizes"], entry.get("count", 1)) for entry in document["layers"]]
    tokens, heads = 2 * 7, 2 * 3
    assert found == [
        ({"C": 12, "M": 12, "N": tokens}, 3),
        ({"M": 7, "N": 7, "K": 4, "H": heads}, 1),
        ({"M": 4, "N": 7, "K": 7, "H": heads}, 1),
    ]


def test_weights_may_be_computed_from_constants(tmp_path):
    # Dequantized and transposed weights stand first here; the activations must not be taken for them.
    text = """g (float[6,4] x) => (float[5,4] y) {
      t = Transpose<perm=[1,0]>(w)
      z = MatMul(t, w2)
      y = MatMul(z, x)
    }"""
    document, skipped = document_of(saved(model_of(text, {"w": (3, 5), "w2": (3, 6)}), tmp_path))
    assert [entry["sizes"] for entry in document["layers"]] == [{"C": 6, "M": 5, "N": 4}]
    assert [(node.op, node.reason) for node in skipped if node.op == "MatMul"] == [
        ("MatMul", "all its inputs are constants")
    ]


def test_local_functions_are_followed(tmp_path):
    text = """g (float[1,4,6,6] x) => (float[1,4,6,6] y) { a = d.Block(x, w)  y = d.Block(a, w) }
    <domain: "d", opset_import: ["": 17]> Block (p, q) => (r) { r = Conv<pads=[1,1,1,1]>(p, q) }"""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17, "d": 1]> ' + text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(ones(4, 4, 3, 3), "w"))
    document, _ = document_of(saved(model, tmp_path))
    assert [(entry["count"], entry["sizes"]["C"]) for entry in document["layers"]] == [(2, 4)]


_DYNAMIC = "g (float[batch,3,size,8] x, float[batch,5] z) => (float[n,m,h,w] y) { y = Conv(x, k) }"


def test_open_dimensions_are_named(tmp_path):
    path = saved(model_of(_DYNAMIC, {"k": (4, 3, 3, 3)}), tmp_path)
    with pytest.raises(InputError) as caught:
        read_graph(path)
    fields = [fault.field for fault in caught.value.faults]
    assert fields == ["input x, dimension 0 (batch)", "input x, dimension 2 (size)", "input z, dimension 0 (batch)"]
    with pytest.raises(InputError, match="dimension 2 \\(size\\)"):
        read_graph(path, batch=2)
    layers, _ = graph_layers(read_graph(path, batch=2, shapes={"x": (2, 3, 10, 8)}))
    assert layers[0].sizes == {
        "C": 3,
        "M": 4,
        "kernel": 3,
        "P": 6,
        "Q": 8,
        "input_width": 8,
        "input_height": 10,
        "N": 2,
    }
    # The name batch is one size everywhere, so z need not be stated.
    assert graph_layers(read_graph(path, shapes={"x": (5, 3, 10, 8)}))[0][0].sizes["N"] == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shapes": {"x": (1, 4, 10, 8)}}, "input x, dimension 1"),
        ({"shapes": {"x": (1, 3, 10)}}, "another number of dimensions"),
        ({"shapes": {"X1": (1, 3, 10, 8)}}, "unknown input"),
        ({"shapes": {"x": (1, 3, 10, 8), "z": (2, 5)}}, "input z, dimension 0"),
        ({"shapes": {"x": (0, 3, 10, 8)}}, "must be positive"),
    ],
)
def test_given_shapes_must_fit(options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read_graph(saved(model_of(_DYNAMIC, {"k": (4, 3, 3, 3)}), tmp_path), **options)


def test_a_fixed_batch_is_not_changed(tmp_path):
    path = saved(model_of("g (float[1,4] x) => (float[1,5] y) { y = MatMul(x, w) }", {"w": (4, 5)}), tmp_path)
    assert read_graph(path, batch=1).shapes["y"] == (1, 5)
    with pytest.raises(InputError, match="no input leaves its first dimension open"):
        read_graph(path, batch=2)


REFUSED = [
    ("Conv(x, w)", (1, 4, 3, 3, 3, 3), (3, 4, 3, 3, 3, 3), "one, two or three spatial dimensions"),
    ("ConvTranspose(x, w)", (1, 4, 3, 3, 3), (4, 3, 2, 2, 2), "one or two spatial dimensions of a transposed"),
    ('Einsum<equation="ij,kj->ij">(x, w)', (4, 6), (5, 6), "sums inside one factor"),
    ('Einsum<equation="ii,ij->ij">(x, w)', (4, 4), (4, 6), "has a label twice"),
    ("Conv(x, w)", (1, 4, 9, 9), (3, 5, 3, 3), "channels do not fit"),
    ("Conv<group=0>(x, w)", (1, 4, 9, 9), (3, 4, 3, 3), "channels do not fit"),
    ("Conv(x, w)", (1, 4, 9, 9), (3, 4, 3, 30), "larger than the padded input"),
    ("MatMul(x, w)", (4, 3000000000), (3000000000, 3), "too large"),
]


@pytest.mark.parametrize(("operation", "data", "weights", "message"), REFUSED)
def test_what_the_model_cannot_express_is_refused_by_node(operation, data, weights, message, tmp_path):
    shapes = [",".join(map(str, shape)) for shape in (data, weights)]
    dims = ",".join(f"d{i}" for i in range(len(data)))
    text = f"g (float[{shapes[0]}] x, float[{shapes[1]}] w) => (float[{dims}] y) {{ y = {operation} }}"
    path = saved(model_of(text), tmp_path)
    result = runner.invoke(app, ["import", str(path), "--output", str(tmp_path / "o.yaml")])
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert f"{operation.partition('<')[0].partition('(')[0]}_0" in str(result.exception)
    assert not (tmp_path / "o.yaml").exists()


_MIXED = """g (float[1,4,9,9] x, float[5,1,3] s) => (float[n,m,h,w] y, float[a,b] e, float[c,d,f,i] l) {
  b = Conv(x, k)
  y = Relu(b)
  e = Einsum<equation="nchw,nkhw->nk">(x, x)
  l = LSTM<hidden_size=4>(s, wi, wr)
}"""


def test_others_are_listed_and_what_cannot_be_can_be_skipped(tmp_path):
    path = saved(model_of(_MIXED, {"k": (4, 4, 3, 3), "wi": (1, 16, 3), "wr": (1, 16, 4)}), tmp_path)
    output = tmp_path / "o.yaml"
    result = runner.invoke(app, ["import", str(path), "--output", str(output), "--skip-unsupported"])
    assert result.exit_code == 0, result.output
    assert "1 LSTM (LSTM_3): a recurrent layer" in result.stderr
    assert "1 Einsum (Einsum_2): equation: sums inside one factor" in result.stderr
    assert "skipped 1 Relu" in result.stderr
    network = load_network(output)
    assert [point.layer.macs for point in network.points] == [7 * 7 * 4 * 4 * 9]
    share = f"{100 * 5 * 16 * 7 / (5 * 16 * 7 + 7 * 7 * 4 * 4 * 9):.1f}%"
    assert f"multiply-accumulates of 1 Einsum, 1 LSTM, {share} of all, those of 1 unknown." in network.description


@pytest.mark.parametrize("shapes", ["heads apart", "heads together"])
def test_a_fused_attention_is_its_two_products(shapes, tmp_path):
    """Six query heads share two heads of keys and values; seven tokens attend to eleven."""
    if shapes == "heads apart":
        inputs, heads = "float[2,6,7,4] q, float[2,2,11,4] k, float[2,2,11,5] v", ""
    else:
        inputs = "float[2,7,24] q, float[2,11,8] k, float[2,11,10] v"
        heads = "<q_num_heads=6, kv_num_heads=2>"
    dims = "a,b,c,d" if shapes == "heads apart" else "a,b,c"
    header = '<ir_version: 10, opset_import: ["": 23]> '
    text = f"g ({inputs}) => (float[{dims}] y) {{ y = Attention{heads}(q, k, v) }}"
    document, _ = document_of(saved(onnx.parser.parse_model(header + text), tmp_path))
    assert [(entry["kind"], entry["sizes"]) for entry in document["layers"]] == [
        ("matmul", {"H": 4, "M": 11, "N": 21, "K": 4}),
        ("matmul", {"H": 4, "M": 5, "N": 21, "K": 11}),
    ]


def test_loop_bodies_are_not_counted_silently(tmp_path):
    text = """g (bool c, float[2,3] x) => (float[2,3] y) {
      y = If(c) <
        then_branch = t () => (float[2,3] a) { a = MatMul(x, w) },
        else_branch = e () => (float[2,3] b) { b = Identity(x) }
      >
    }"""
    model = onnx.parser.parse_model(_HEADER + text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(ones(3, 3), "w"))
    _, skipped = graph_layers(read_graph(saved(model, tmp_path)))
    assert [(node.uncounted, "1 MatMul inside" in node.reason) for node in skipped] == [(True, True)]


def test_names_are_made_usable_and_unique(tmp_path):
    model = model_of(
        "g (float[1,4] x) => (float[1,6] y) { a = MatMul(x, u) b = MatMul(a, v) y = MatMul(b, w) }",
        {"u": (4, 5), "v": (5, 7), "w": (7, 6)},
    )
    for node, name in zip(model.graph.node, ("/enc/layer 0/" + "q" * 80, "enc/" + "q" * 80, "ä"), strict=True):
        node.name = name
    document, _ = document_of(saved(model, tmp_path))
    names = [entry["name"] for entry in document["layers"]]
    assert names == ["q" * 60, "q" * 58 + "_2", "fc"]


def test_json_round_trip_and_search(tmp_path):
    text = "g (float[N,4,8,8] x) => (float[a,b] y) { c = Conv<strides=[2,2]>(x, k) f = Flatten(c) y = MatMul(f, w) }"
    path = saved(model_of(text, {"k": (4, 4, 3, 3), "w": (36, 8)}), tmp_path, "two words.onnx")
    output = tmp_path / "two words.yaml"
    result = runner.invoke(app, ["import", str(path), "--output", str(output), "--batch", "1", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["macs"] == 3 * 3 * 4 * 36 + 36 * 8
    assert load_network(output).name == "two_words"
    found = runner.invoke(app, ["sweep", str(output), "--arch", "simba", "--output", str(tmp_path / "results")])
    assert found.exit_code == 0, found.output
    assert "simba: 2 ok" in found.stdout


def test_default_output_is_not_replaced_unasked(tmp_path, monkeypatch):
    for folder in ("arch", "config", "layers/networks"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    path = saved(model_of("g (float[1,4] x) => (float[1,5] y) { y = MatMul(x, w) }", {"w": (4, 5)}), tmp_path)
    assert runner.invoke(app, ["import", str(path)]).exit_code == 0
    written = tmp_path / "layers/networks/net.yaml"
    before = written.read_bytes()
    assert isinstance(runner.invoke(app, ["import", str(path)]).exception, InputError)
    assert runner.invoke(app, ["import", str(path), "--force"]).exit_code == 0
    assert written.read_bytes() == before


@pytest.mark.parametrize("text", ["x", "=1", "x=", "x=1,a", "x=-1", "x=1.5", "x=9999999999"])
def test_a_malformed_shape_option_is_an_input_error(text, tmp_path):
    result = runner.invoke(app, ["import", str(tmp_path / "net.onnx"), "--shape", text])
    assert isinstance(result.exception, InputError)


def test_without_the_package_the_way_to_it_is_told(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(onnx_read.importlib, "import_module", missing)
    with pytest.raises(EngineError, match=r"pip install 'jouleloop\[onnx\]'"):
        read_graph(tmp_path / "net.onnx")


@pytest.mark.parametrize(
    "content", [b"", b"\x00", b"kind: fc\n", b"\xff" * 100, b"\x08\x08", bytes(range(256)) * 4, b"\x0a\xff\xff\xff\x7f"]
)
def test_what_is_no_model_is_an_input_error(content, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_graph(path)


def test_functions_that_grow_without_bounds_are_refused(tmp_path):
    # Each function calls the next twice: 2 ** 40 nodes when put in place.
    calls = [
        f'<domain: "d", opset_import: ["": 17, "d": 1]> F{i} (p) => (r) {{ q = d.F{i + 1}(p)  r = d.F{i + 1}(q) }}'
        for i in range(40)
    ]
    calls.append('<domain: "d", opset_import: ["": 17]> F40 (p) => (r) { r = Relu(p) }')
    text = "g (float[2] x) => (float[2] y) { y = d.F0(x) }\n" + "\n".join(calls)
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17, "d": 1]> ' + text)
    with pytest.raises(InputError, match="too many nodes"):
        read_graph(saved(model, tmp_path))
    model.functions[39].node[0].op_type = "F3"
    del model.functions[39].node[1:]
    model.functions[39].node[0].output[0] = "r"
    with pytest.raises(InputError, match="calls itself"):
        read_graph(saved(model, tmp_path))


def test_operations_of_other_domains_are_reported_as_uncounted(tmp_path):
    text = '<ir_version: 8, opset_import: ["": 17, "com.acme": 1]> '
    text += "g (float[2,4] x) => (float[2,5] y) { y = MatMul(x, w)  z = com.acme.Magic(y) }"
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(ones(4, 5), "w"))
    layers, skipped = graph_layers(read_graph(saved(model, tmp_path)))
    assert len(layers) == 1
    assert [(node.op, node.uncounted) for node in skipped] == [("Magic", True)]


def test_a_layer_behind_an_unknown_shape_is_refused(tmp_path):
    text = '<ir_version: 8, opset_import: ["": 17, "com.acme": 1]> '
    text += "g (float[2,4] x) => (float[n,m] y) { z = com.acme.Magic(x)  y = MatMul(z, w) }"
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(ones(4, 5), "w"))
    with pytest.raises(InputError, match=r"MatMul node MatMul_1.*'z' could not be inferred"):
        graph_layers(read_graph(saved(model, tmp_path)))


def test_a_damaged_file_is_an_input_error_or_a_network(tmp_path):
    text = "g (float[1,4,8,8] x) => (float[a,b] y) { c = Conv<strides=[2,2]>(x, k) f = Flatten(c) y = MatMul(f, w) }"
    data = saved(model_of(text, {"k": (1, 4, 1, 1), "w": (16, 1)}), tmp_path).read_bytes()
    draw = np.random.default_rng(0)
    path = tmp_path / "damaged.onnx"
    refused: list[InputError] = []
    for _ in range(300):
        damaged = bytearray(data)
        damaged[draw.integers(len(damaged))] = draw.integers(256)
        path.write_bytes(damaged)
        try:
            graph_layers(read_graph(path))
        except InputError as error:
            refused.append(error)
    assert 0 < len(refused) < 300
    assert all(str(path) in str(error) or "node" in str(error) for error in refused)


def chains_of(text: str, weights: dict[str, tuple[int, ...]], tmp_path: Path, opset: int = 17):
    model = onnx.parser.parse_model(_HEADER.replace("17", str(opset)) + text)
    for name, shape in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(shape, np.float32), name))
    graph = read_graph(saved(model, tmp_path))
    return [[layer.node for layer in chain] for chain in graph_chains(graph, graph_layers(graph)[0])]


GATED = "u = MatMul(x, w1) \n s = Sigmoid(u) \n g = Mul(u, s) \n z = MatMul(g, w2)"
MASKED = "a = MatMul(x, y) \n b = Add(a, m) \n p = Softmax(b) \n z = MatMul(p, v)"


@pytest.mark.parametrize(
    ("body", "inputs", "found"),
    [
        (GATED, {"x": (4, 8)}, [["MatMul_0", "MatMul_3"]]),
        # Scores under a mask that heads share, and under one of their own.
        (MASKED, {"x": (3, 8, 6), "y": (3, 6, 8), "m": (8, 8), "v": (3, 8, 6)}, [["MatMul_0", "MatMul_3"]]),
        (MASKED, {"x": (3, 8, 6), "y": (3, 6, 8), "m": (3, 8, 8), "v": (3, 8, 6)}, []),
        # A residual sum reads the tensor, too; the other factor is none that streams; axes change places.
        ("a = MatMul(x, w1) \n b = MatMul(a, w2) \n z = Add(a, b)", {"x": (4, 8)}, []),
        ("a = MatMul(x, w1) \n z = MatMul(y, a)", {"x": (8, 8), "y": (8, 8)}, []),
        ("a = MatMul(x, w1) \n t = Transpose(a) \n z = MatMul(t, w2)", {"x": (8, 8)}, []),
        ("a = MatMul(x, w1) \n z = Gemm<transA=1>(a, w2)", {"x": (8, 8)}, []),
        ("a = MatMul(w1, x) \n z = MatMul(a, w2)", {"x": (8, 8)}, []),
        # Sizes follow each other, data does not.
        ("a = MatMul(x, w1) \n b = MatMul(x, w2) \n z = Add(a, b)", {"x": (4, 8)}, []),
        # Rows of a product are no channels of a convolution.
        ("a = MatMul(x, w1) \n z = Conv(a, c)", {"x": (1, 8, 8)}, []),
    ],
)
def test_chains_are_what_one_layer_alone_reads(body, inputs, found, tmp_path):
    given = ", ".join(f"float[{','.join(map(str, shape))}] {name}" for name, shape in inputs.items())
    output = ",".join(["i", "j", "k"][: len(inputs["x"])])
    text = f"net ({given}) => (float[{output}] z) {{ {body} }}"
    assert chains_of(text, {"w1": (8, 8), "w2": (8, 8), "c": (2, 8, 1)}, tmp_path) == found


def test_an_output_of_the_network_leaves_the_chip(tmp_path):
    text = "net (float[4,8] x) => (float[i,j] z{}) {{ a = MatMul(x, w1) \n b = Relu(a) \n z = MatMul(b, w2) }}"
    weights = {"w1": (8, 8), "w2": (8, 8)}
    assert chains_of(text.format(""), weights, tmp_path) == [["MatMul_0", "MatMul_2"]]
    assert chains_of(text.format(", float[i,j] b"), weights, tmp_path) == []


def test_a_fused_attention_is_a_chain(tmp_path):
    text = "net (float[1,2,8,4] q, float[1,2,6,4] k, float[1,2,6,4] v) => (float[i,j,k,l] z) { z = Attention(q, k, v) }"
    assert chains_of(text, {}, tmp_path, 23) == [["Attention_0_scores", "Attention_0_weighted_values"]]


BLOCK = """
 {0}a = Conv({1}, w1)
 {0}b = Relu({0}a)
 {0}c = Conv<group=24, pads=[1,1,1,1]>({0}b, w2)
 {0}d = Relu({0}c)
 {0}e = Conv({0}d, w3)
 {0}z = Add({0}e, {1})"""


def test_the_file_of_a_model_names_its_chains(tmp_path):
    body = BLOCK.format("one", "x") + BLOCK.format("two", "onez")
    text = f"net (float[1,4,6,6] x) => (float[1,4,6,6] twoz) {{ {body} }}"
    path = saved(model_of(text, {"w1": (24, 4, 1, 1), "w2": (24, 1, 3, 3), "w3": (4, 24, 1, 1)}), tmp_path)
    output = tmp_path / "net.yaml"
    assert runner.invoke(app, ["import", str(path), "--output", str(output)]).exit_code == 0
    [(chain, count)] = chains_in(output)
    assert (chain.names, count) == (("Conv_0", "Conv_2", "Conv_4"), 2)
    assert [[axis.writer for axis in link.axes] for link in chain.links] == [["M", "P", "Q"], ["G", "P", "Q"]]
    assert [axis.reach for axis in chain.links[0].axes] == [1, 3, 3]
    assert load_network(output).chains == ((chain.names, 2),)
