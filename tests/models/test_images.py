"""Images in what a model reads: which are taken, and that the model makes of them what plain transformers does."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the model process needs torch")
pytest.importorskip("transformers", reason="the model process needs transformers")
pytest.importorskip("PIL", reason="images need Pillow")

import torch
from PIL import Image

from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.forward import Forward
from rewarden_models.images import MAX_BYTES, MAX_IMAGES, extract_images
from rewarden_models.loading import Loaded, load
from rewarden_models.tasks import prepare
from rewarden_models.writing import Writer
from rewarden_verifiers.inference import Choose, Classify, Input, Likelihood, Task, Write
from tests.models import tiny

pytestmark = pytest.mark.needs_server


def address(picture: Image.Image, form: str = "PNG") -> str:
    held = io.BytesIO()
    picture.save(held, form)
    return f"data:image/{form.lower()};base64,{base64.b64encode(held.getvalue()).decode()}"


def picture(red: int, size: tuple[int, int] = (48, 30)) -> Image.Image:
    made = Image.new("RGB", size, (red, 40, 90))
    made.paste((255, 255, 255), (5, 5, 20, 20))
    return made


def image(url: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def chat(*parts: dict[str, Any]) -> Input:
    return Input(messages=[{"role": "user", "content": list(parts)}], begin=True)


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A model that sees."""
    folder = tiny.seeing(tmp_path_factory.mktemp("seeing"))
    return load("seeing", ModelEndpoint(model=str(folder), device="cpu"))


def ours(loaded: Loaded, task: Task[Any]) -> Any:
    made = prepare(loaded, task)
    return made.finish(Forward(loaded).run(made.rows))


def theirs(loaded: Loaded, pictures: list[Image.Image], *parts: dict[str, Any], more: str = "") -> dict[str, Any]:
    """Returns what plain transformers makes of a chat: the processor's own rendering, with text behind it."""
    marked = [{"type": "image"} if part["type"] == "image_url" else part for part in parts]
    rendered = loaded.processor.apply_chat_template(
        [{"role": "user", "content": marked}], add_generation_prompt=True, tokenize=False
    )
    return dict(
        loaded.processor(text=[rendered + more], images=[pictures], return_tensors="pt", add_special_tokens=False)
    )


TWO = (text("Compare "), image(address(picture(10))), text(" with "), image(address(picture(250, (30, 60)))), text("?"))
BOTH = [picture(10), picture(250, (30, 60))]


class TestAsTransformers:
    """Every kind of task gives what transformers gives for the same chat and images, within 1e-3."""

    @pytest.mark.parametrize("count", [1, 2])
    def test_what_is_read(self, seeing: Loaded, count: int) -> None:
        parts = TWO[: 2 * count]
        (row,) = prepare(seeing, Choose(input=chat(*parts), choices=["a", "b"])).rows
        plain = theirs(seeing, BOTH[:count], *parts)
        assert row.ids == plain["input_ids"][0].tolist()
        assert row.pixels is not None
        for name in ("pixel_values", "pixel_attention_mask"):
            assert torch.equal(row.pixels[name], plain[name])

    def test_choices(self, seeing: Loaded) -> None:
        found = ours(seeing, Choose(input=chat(*TWO), choices=["a", "b"]))
        with torch.inference_mode():
            logits = seeing.model(**theirs(seeing, BOTH, *TWO)).logits[0, -1].log_softmax(-1)
        ids = [seeing.tokenizer(each)["input_ids"][0] for each in "ab"]
        assert found.logprobs == pytest.approx(logits[ids].tolist(), abs=1e-3)

    def test_likelihoods(self, seeing: Loaded) -> None:
        found = ours(seeing, Likelihood(input=chat(*TWO), continuation="They differ."))
        inputs = theirs(seeing, BOTH, *TWO, more="They differ.")
        with torch.inference_mode():
            logprobs = seeing.model(**inputs).logits[0].log_softmax(-1)
        ids, length = inputs["input_ids"][0].tolist(), len("They differ.")
        expected = [logprobs[at - 1, ids[at]].item() for at in range(len(ids) - length, len(ids))]
        assert found.logprobs == pytest.approx(expected, abs=1e-3)

    def test_texts(self, seeing: Loaded) -> None:
        """Beside one that has no image, and one that has another."""
        made = Writer(seeing, ModelEndpoint(model="seeing"))
        futures = []
        for parts in (TWO, (text("No image."),), TWO[:2]):
            task = Write(input=chat(*parts), max_tokens=12)
            (row,) = prepare(seeing, task).rows
            futures.append(made.add(task, row.ids, row.pixels))
            made.step()
        made.run()
        inputs = theirs(seeing, BOTH, *TWO)
        with torch.inference_mode():
            whole = seeing.model.generate(**inputs, max_new_tokens=12, do_sample=False)[0]
        new = whole[inputs["input_ids"].shape[1] :].tolist()
        assert futures[0].result()[0].text == seeing.tokenizer.decode(new, skip_special_tokens=True)
        assert all(future.result()[0].tokens for future in futures)

    def test_the_image_matters(self, seeing: Loaded) -> None:
        tasks = [Choose(input=chat(image(address(picture(red)))), choices=["a", "b"]) for red in (0, 250)]
        assert ours(seeing, tasks[0]).logprobs != pytest.approx(ours(seeing, tasks[1]).logprobs, abs=1e-6)

    def test_rows_with_images_share_nothing(self, seeing: Loaded) -> None:
        """Their tokens are the same; what they show is not."""
        tasks = [Choose(input=chat(image(address(picture(red)))), choices=["a", "b"]) for red in (0, 250)]
        made = [prepare(seeing, task) for task in tasks]
        outputs = Forward(seeing).run([one.rows[0] for one in made])
        assert [one.finish([output]) for one, output in zip(made, outputs, strict=True)] == [
            ours(seeing, task) for task in tasks
        ]

    def test_text_alone_reads_as_text(self, seeing: Loaded) -> None:
        """It reads the same as a text and as parts."""
        plain = Input(messages=[{"role": "user", "content": "Hello"}], begin=True)
        rows = [prepare(seeing, Choose(input=given, choices=["a"])).rows[0] for given in (plain, chat(text("Hello")))]
        rendered = seeing.tokenizer.apply_chat_template(plain.messages, add_generation_prompt=True, tokenize=False)
        assert rows[0].ids == rows[1].ids == seeing.tokenizer(rendered, add_special_tokens=False)["input_ids"]
        assert rows[0].pixels is None


class TestRefused:
    """Anything that is not read is said; nothing is scored without an image that belongs to it."""

    def kind(self, loaded: Loaded, *parts: dict[str, Any]) -> str:
        with pytest.raises(Failure) as found:
            prepare(loaded, Choose(input=chat(*parts), choices=["a", "b"]))
        return found.value.kind

    def test_a_model_that_does_not_see(self) -> None:
        with pytest.raises(Failure) as found:
            extract_images([{"role": "user", "content": list(TWO)}], None)
        assert found.value.kind == "unsupported"

    @pytest.mark.parametrize(
        "url",
        [
            "http://example.com/a.png",
            "https://example.com/a.png",
            "file:///etc/passwd",
            "/etc/passwd",
            "",
            None,
            "data:image/svg+xml;base64,PHN2Zy8+",
            "data:image/png;base64,not base64!",
            "data:image/png;base64," + base64.b64encode(b"no image").decode(),
            "data:image/png;base64," + base64.b64encode(b"GIF89a" + bytes(20)).decode(),
        ],
    )
    def test_addresses(self, seeing: Loaded, url: Any) -> None:
        assert self.kind(seeing, image(url)) == "invalid"

    def test_other_formats_under_a_false_name(self, seeing: Loaded) -> None:
        held = io.BytesIO()
        picture(1).save(held, "BMP")
        assert self.kind(seeing, image("data:image/png;base64," + base64.b64encode(held.getvalue()).decode())) == (
            "invalid"
        )

    def test_decompression_bombs(self, seeing: Loaded) -> None:
        """A header of a hundred bytes that promises 10 gigapixels; nothing of it is decoded."""

        def chunk(name: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

        header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
        bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
        assert self.kind(seeing, image("data:image/png;base64," + base64.b64encode(bomb).decode())) == "invalid"

    def test_damaged_files(self, seeing: Loaded) -> None:
        whole = base64.b64decode(address(picture(3), "JPEG").split(",")[1])
        for cut in (10, 200, len(whole) // 2):
            part = "data:image/jpeg;base64," + base64.b64encode(whole[:cut]).decode()
            assert self.kind(seeing, image(part)) == "invalid"

    def test_too_much(self, seeing: Loaded) -> None:
        assert self.kind(seeing, image("data:image/png;base64," + "A" * (2 * MAX_BYTES))) == "invalid"
        assert self.kind(seeing, *[image(address(picture(1)))] * (MAX_IMAGES + 1)) == "invalid"

    def test_parts_without_an_image(self, seeing: Loaded) -> None:
        assert self.kind(seeing, {"type": "image"}, image(address(picture(1)))) == "invalid"
        assert self.kind(seeing, {"type": "video", "video": "x"}) == "unsupported"

    def test_marks_in_the_text_stand_for_no_image(self, seeing: Loaded) -> None:
        """A policy that writes the mark of an image gets letters, not another's image."""
        task = Choose(input=chat(text("<image> "), image(address(picture(10)))), choices=["a", "b"])
        made = prepare(seeing, task)
        assert made.facts.neutralised
        assert made.rows[0].ids.count(seeing.processor.image_token_id) == (
            prepare(seeing, Choose(input=chat(image(address(picture(10)))), choices=["a", "b"]))
            .rows[0]
            .ids.count(seeing.processor.image_token_id)
        )

    def test_images_are_never_cut(self, seeing: Loaded) -> None:
        given = Input(messages=[{"role": "user", "content": [*TWO, text("x" * 3000)]}], fit="left")
        with pytest.raises(Failure) as found:
            prepare(seeing, Choose(input=given, choices=["a"]))
        assert found.value.kind == "too_long"

    @pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
    def test_formats_that_are_read(self, seeing: Loaded, form: str) -> None:
        task = Choose(input=chat(image(address(picture(10), form))), choices=["a", "b"])
        assert prepare(seeing, task).rows[0].pixels is not None


def test_upright_as_the_camera_says(seeing: Loaded) -> None:
    """An image's EXIF orientation 6 says that it is to be turned by a quarter."""
    lying, held = picture(9, (60, 20)), io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    lying.save(held, "JPEG", exif=exif)
    url = "data:image/jpeg;base64," + base64.b64encode(held.getvalue()).decode()
    _, (found,) = extract_images([{"role": "user", "content": [image(url)]}], seeing.processor)
    assert found.size == (20, 60)


def test_a_head_over_a_model_that_sees(tmp_path: Path) -> None:
    """A sequence-classification head reads images too."""
    folder = tiny.seeing_head(tmp_path)
    loaded = load("head", ModelEndpoint(model=str(folder), device="cpu"))
    found = ours(loaded, Classify(input=chat(*TWO)))
    with torch.inference_mode():
        expected = loaded.model(**theirs(loaded, BOTH, *TWO)).logits[0].tolist()
    assert found.values == pytest.approx(expected, abs=1e-3)
