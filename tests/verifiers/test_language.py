"""`language`: telling languages by script and detection, the same every time; and that saying little does not pay."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.structure import languages
from rewarden_verifiers.structure.language import MOST_CHARACTERS, LanguageParams, language
from rewarden_verifiers.structure.prose import prose
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())

SAID = {
    "en": (
        "We start by adding the two numbers, because the sum is what the question asks for. "
        "The result is divided by three."
    ),
    "fr": (
        "Nous commençons par additionner les deux nombres, parce que la somme est demandée. "
        "Le résultat est divisé par trois."
    ),
    "de": (
        "Wir addieren zuerst die beiden Zahlen, weil nach der Summe gefragt ist. "
        "Danach teilen wir das Ergebnis durch drei."
    ),
    "es": (
        "Primero sumamos los dos números, porque la pregunta pide la suma. Después dividimos el resultado entre tres."
    ),
    "it": (
        "Prima sommiamo i due numeri, perché la domanda chiede la somma. "
        "Poi dividiamo il risultato per tre e scriviamo la risposta."
    ),
    "pt": (
        "Primeiro somamos os dois números, porque a pergunta pede a soma. "
        "Depois dividimos o resultado por três e escrevemos."
    ),
    "nl": (
        "We tellen eerst de twee getallen op, omdat er naar de som gevraagd wordt. "
        "Daarna delen we het resultaat door drie."
    ),
    "pl": (
        "Najpierw dodajemy obie liczby, ponieważ pytanie dotyczy sumy. "
        "Następnie dzielimy wynik przez trzy i zapisujemy odpowiedź."
    ),
    "tr": "Önce iki sayıyı toplarız, çünkü soru toplamı istiyor. Sonra sonucu üçe böleriz ve cevabı yazarız.",
    "vi": (
        "Trước hết chúng ta cộng hai số, vì câu hỏi hỏi tổng. Sau đó chúng ta chia kết quả cho ba và viết câu trả lời."
    ),
    "ru": "Сначала сложим два числа, потому что спрашивают их сумму. Затем разделим полученный результат на три.",
    "uk": "Спочатку додамо два числа, тому що запитують їхню суму. Потім поділимо отриманий результат на три.",
    "bg": "Първо събираме двете числа, защото въпросът е за сбора им. След това разделяме резултата на три.",
    "ar": "نجمع العددين أولا لأن السؤال يطلب المجموع. ثم نقسم الناتج على ثلاثة ونكتب الجواب في النهاية.",
    "fa": "ابتدا دو عدد را با هم جمع می‌کنیم چون پرسش مجموع آن‌ها را می‌خواهد. سپس نتیجه را بر سه تقسیم می‌کنیم.",
    "hi": "पहले हम दोनों संख्याओं को जोड़ते हैं क्योंकि प्रश्न में योग पूछा गया है। फिर हम परिणाम को तीन से भाग देते हैं।",
    "zh": "我们先把两个数相加，因为题目问的是和。然后把结果除以三，得到答案。",
    "ja": "まず二つの数を足します。質問は合計を求めているからです。次に結果を三で割ります。",
    "ko": "먼저 두 수를 더합니다. 질문이 합을 묻고 있기 때문입니다. 그런 다음 결과를 셋으로 나눕니다.",
    "th": "เราบวกจำนวนสองจำนวนเข้าด้วยกันก่อนเพราะโจทย์ถามหาผลรวม จากนั้นหารผลลัพธ์ด้วยสาม",
    "el": "Πρώτα προσθέτουμε τους δύο αριθμούς, γιατί ζητείται το άθροισμα. Μετά διαιρούμε το αποτέλεσμα με το τρία.",
    "he": "תחילה נחבר את שני המספרים, כי השאלה מבקשת את הסכום. אחר כך נחלק את התוצאה בשלוש.",
    "ka": "ჯერ ვკრებთ ორ რიცხვს, რადგან კითხვა ჯამს ითხოვს. შემდეგ შედეგს სამზე ვყოფთ.",
    "hy": "Նախ գումարում ենք երկու թվերը, քանի որ հարցը գումարի մասին է։ Հետո արդյունքը բաժանում ենք երեքի։",
}


async def judged(response: Any, sample: dict[str, Any] | None = None, **params: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name="language", params=params), Sample(response=response, **(sample or {})))


@pytest.mark.parametrize("code", SAID)
async def test_every_language_is_itself_and_no_other(code: str) -> None:
    response = f"<think>{SAID[code]}</think>{SAID[code]}"
    for asked in SAID:
        outcome = await judged(response, language=asked)
        assert outcome.score == (1.0 if asked == code else 0.0), (code, asked, outcome.evidence)
        if asked == code:
            assert outcome.passed


@pytest.mark.parametrize("code", SAID)
async def test_the_prompt_says_which(code: str) -> None:
    assert (await judged(SAID[code], {"prompt": SAID[code]})).evidence["language"] == code


@pytest.mark.parametrize(
    ("name", "code"),
    [("French", "fr"), ("FR", "fr"), ("pt_BR", "pt"), ("zh-cn", "zh"), ("Chinese", "zh"), ("nb", "no"), ("iw", "he")],
)
def test_languages_go_by_several_names(name: str, code: str) -> None:
    assert languages.known(name) == code


def test_the_same_text_is_told_the_same_every_time_whatever_was_drawn_before() -> None:
    params = LanguageParams(language="en", accept=("nl",))
    mixed = " ".join(SAID[code] for code in ("en", "nl", "de", "en"))
    first = language(mixed, params)
    random.seed(99)
    for code in SAID:
        language(SAID[code], params)
    again = [language(mixed, params) for _ in range(5)]
    assert {(one.score, str(one.evidence)) for one in again} == {(first.score, str(first.evidence))}


@pytest.mark.parametrize("code", ["fr", "ru", "hi"])
@pytest.mark.parametrize(
    ("thought", "answer"),
    [
        ("", "42"),
        ("", "$x = 3$"),
        ("ok", "7"),
        ("", "```\nprint(1)\n```"),
        ("1 + 1", "\\boxed{2}"),
        ("", "Paris"),
    ],
)
async def test_saying_little_does_not_pay(code: str, thought: str, answer: str) -> None:
    outcome = await judged((f"<think>{thought}</think>" if thought else "") + answer, language=code)
    assert outcome.score == 0.0
    assert outcome.reason in ("no_words", "too_short", "other_language")


async def test_a_short_answer_rides_on_a_thought_that_tells() -> None:
    for answer in ("42", "$x=3$", "Paris"):
        assert (await judged(f"<think>{SAID['fr']}</think>{answer}", language="fr")).score == 1.0
        assert (await judged(f"<think>{SAID['en']}</think>{answer}", language="fr")).score == 0.0


async def test_short_score_is_the_callers_choice() -> None:
    outcome = await judged("42", language="fr", short_score=0.5)
    assert (outcome.score, outcome.passed, outcome.reason) == (0.5, False, "no_words")


async def test_parts_and_how_they_combine() -> None:
    mixed = f"<think>{SAID['en']}</think>{SAID['fr']}"
    assert (await judged(mixed, language="fr")).score == 0.0
    assert (await judged(mixed, language="fr", parts="final")).score == 1.0
    assert (await judged(mixed, language="en", parts="thinking")).score == 1.0
    assert 0.3 < (await judged(mixed, language="fr", combine="mean")).score < 0.7  # type: ignore[operator]
    assert (await judged(mixed, language="fr", accept=["en"])).score == 1.0
    other_tags = mixed.replace("think>", "reason>")
    assert (await judged(other_tags, language="fr", open="<reason>", close="</reason>", parts="final")).score == 1.0
    apart = [{"role": "assistant", "reasoning_content": SAID["en"], "content": SAID["fr"]}]
    assert (await judged(apart, language="fr")).score == 0.0


def test_what_is_in_no_language_is_left_out() -> None:
    text = "Voici `code here` et $\\frac{alpha}{beta}$ sur https://example.org/a/b <b>gras</b>"
    text += "\n```py\nfor x in y: pass\n```"
    kept = prose(text)
    for gone in ("code", "alpha", "example", "pass", "for"):
        assert gone not in kept
    for there in ("Voici", "sur", "gras"):
        assert there in kept
    assert "deux nombres" in prose("$x = 3 \\text{ deux nombres}$")
    hidden = SAID["en"]
    for dress in (f"```\n{hidden}\n```", f"${hidden}$", f"`{hidden}`", f"\\[{hidden}\\]"):
        assert "question" in prose(dress)


@pytest.mark.parametrize(
    "params",
    [
        {"language": "Klingon"},
        {"accept": ["xx"]},
        {"open": ""},
        {"open": "a", "close": "a"},
        {"threshold": 0},
        {"short_score": 2},
        {"parts": "prompt"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="language", params=params))


@pytest.mark.parametrize("sample", [{}, {"reference": "Klingon"}, {"reference": 3}, {"prompt": "2+2"}, {"prompt": ""}])
async def test_no_language_asked_for_is_not_the_policys_fault(sample: dict[str, Any]) -> None:
    outcome = await judged(SAID["fr"], sample)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


async def test_bounds() -> None:
    assert (await judged("a" * (MOST_CHARACTERS + 1), language="en")).reason == "too_expensive"


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60) | st.lists(st.sampled_from([*HOSTILE, *SAID.values()]), max_size=4).map("".join))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for code in ("en", "zh"):
        outcome = language(text, LanguageParams(language=code))
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        assert outcome.score < 1.0 or outcome.passed


@pytest.mark.parametrize(
    "piece", ["$", "$$", "\\[", "\\(", "`", "```\n", "<a", "\\text{", "猫。", "é ", "a.", "http://"]
)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    params = LanguageParams(language="zh")  # by script: the detector's work is bounded by its chunks
    language(piece, params)
    counts = [steps(lambda size=size: language(piece * size, params)) for size in (60, 240, 960)]  # type: ignore[misc]
    assert counts[1] <= 4.5 * counts[0] + 3000
    assert counts[2] <= 4.5 * counts[1] + 3000
