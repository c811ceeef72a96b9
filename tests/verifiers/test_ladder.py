"""The ladder of `auto`: what each rung reads, what keeps a rung from firing, and how verifiers say which one it was."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.answer.loose import formula_ladder
from rewarden_verifiers.extraction import Extracted, demanded
from rewarden_verifiers.extraction.languages import LANGUAGES
from rewarden_verifiers.extraction.phrases import phrase
from rewarden_verifiers.registry import Registry
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

LADDER = formula_ladder("auto")
PLANNER = Planner(Registry())
BOX = "Put your answer in \\boxed{}."
ASKED = "The prompt asks for \\boxed{…}, and the response has none."
WOULD = "`extraction: explicit` would read the answer that the response marks"


def read(response: str, **context: Any) -> Extracted | None:
    return LADDER.find(response, **context)


async def judged(use: str, response: str, reference: Any, **fields: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name=use), Sample(response=response, reference=reference, **fields))


@pytest.mark.parametrize(
    ("response", "answer", "rung"),
    [
        (r"So \boxed{12}.", "12", "boxed"),
        ("So <answer>12</answer>", "12", "answer_tag"),
        ("<final_answer>12</final_answer>", "12", "answer_tag"),
        ("[ANSWER]12[/ANSWER]", "12", "answer_tag"),
        ("<|begin_of_box|>12<|end_of_box|>", "12", "answer_tag"),
        ('{"reasoning": "6 + 6", "answer": "12"}', "12", "json_answer"),
        ('```json\n{"final_answer": 12.5}\n```', "12.5", "json_answer"),
        ('{"answer": "\\frac{1}{2}"}', r"\frac{1}{2}", "json_answer"),
        ('{"answer": "\\\\frac{1}{2}"}', r"\frac{1}{2}", "json_answer"),
        ('{"answer": [1, 2]}', "[1, 2]", "json_answer"),
        ("6 + 6\n#### 12", "12", "hash"),
        ("**Final Answer**\n\n12", "12", "heading"),
        ("## Answer\n$$12$$", "12", "heading"),
        ("**Answer:** 12", "12", "heading"),
        ("The answer is 12.", "12", "phrase"),
        ("The answer is:\n\n\\[ x = 12 \\]", "x = 12", "phrase"),
        ("Final Answer: The answer is ... I.", "I", "phrase"),
        (r"\[ \text{The answer is (E)} \]", "(E)", "phrase"),
        ("The answer is $5!$.", "5!", "phrase"),
        ("6 and 6 are 12.\nA: 12", "12", "phrase"),
        ("12", "12", "bare_line"),
        ("f(x)=2x", "f(x)=2x", "bare_line"),
        ("Add them.\n**$12**", "$12", "bare_line"),
        ("Add them.\n$$x = 12$$", "x = 12", "bare_line"),
        ("We choose.\n(C)", "(C)", "bare_line"),
        (r"Therefore $x \geq 5$ is the solution.", r"x \geq 5", "last_span"),
        ("Hence we get\n\\[ x = \\frac{1}{2}. \\]", r"x = \frac{1}{2}", "bare_line"),
        ("The volume of $ABCDEFGH$ is 120.", "120", "concluding_number"),
        ("The largest $n$ is 34.", "34", "concluding_number"),
        ("The angle is [ 90 ].", "90", "concluding_number"),
        (r"[$\sqrt{16}$]", r"\sqrt{16}", "bare_line"),
        ("From the given lengths, it is 34.", "34", "concluding_number"),
        ("He pays 3 * 5 = $15.", "15", "concluding_number"),
        ("She walks **13 miles**. Is there anything else I can help you with?", "13", "concluding_number"),
    ],
)
def test_each_rung_reads_what_is_its_own(response: str, answer: str, rung: str) -> None:
    found = read(response)
    assert found is not None
    assert (found.texts, found.rule) == ((answer,), rung)
    assert found.loose == (rung in ("bare_line", "last_span", "concluding_number"))


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (r"\boxed{13} The answer is 12.", "13"),
        ("<answer>13</answer>\n#### 12", "13"),
        ("#### 13\n\nTherefore the answer is 12.", "13"),
        ("The answer is 13.\n12", "13"),
    ],
)
def test_a_later_rung_does_not_rescue_an_earlier_one(response: str, answer: str) -> None:
    found = read(response)
    assert found is not None
    assert found.text == answer


@pytest.mark.parametrize(
    "response",
    [
        "She walks 12 miles or 13 miles.",
        "It may be 12.",
        "Is it 12?",
        "It is not 12.",
        "It is at least 12.",
        "If so, it is 12.",
        "It is 12 and that is 13.",
        "It is between 12 and 13.",
        "It is 12^x.",
        "It is x + 12.",
        "It is 12:30.",
        "It is (12, 13).",
        "It is [12, 13].",
        "Given that it is 12.",
        "It is 12kg4.",
        "It is 12\\pi.",
        "Here $a = 3$ and $b = 4$.",
        "So the total is 12",
        "So the total is $12$",
        r"So the total is \(12\)",
        "She has $5 and $6.",
        "Look at $x$.",
        "No idea.",
        "",
    ],
)
def test_a_text_that_concludes_nothing_has_no_answer(response: str) -> None:
    assert read(response) is None


@pytest.mark.parametrize("response", ["12", "x = 12", "She walks 12 miles.", r"So it is $x \geq 12$."])
def test_not_finishing_never_pays(response: str) -> None:
    """Attack: stop, or be stopped, behind a number."""
    assert read(response) is not None
    assert read(response, finish_reason="stop") is not None
    assert read(response, finish_reason="length") is None
    assert read(response, finish_reason="abort") is None
    for opened in (r"\boxed{", "<answer>", "<|begin_of_box|>", r"\boxed{}", "<answer></answer>"):
        assert read(f"{opened}\n{response}") is None


@pytest.mark.parametrize(
    ("prompt", "response", "answer"),
    [
        (r"Put it in \boxed{}.", "The answer is 12.", None),
        (r"Put it in \boxed{}.", "<answer>12</answer>", None),
        (r"Put it in \boxed{}.", r"\boxed{12}", "12"),
        ("Put it in <answer> tags.", r"\boxed{12}", None),
        ("Put it in <ANSWER> tags.", "<answer>12</answer>", "12"),
        (r"Write <answer>\boxed{…}</answer>.", r"\boxed{12}", "12"),
        ("Say what it is.", "The answer is 12.", "12"),
    ],
)
def test_only_the_form_that_the_prompt_asks_for_counts(prompt: str, response: str, answer: str | None) -> None:
    found = read(response, prompt=prompt)
    assert (None if found is None else found.text) == answer
    lax = formula_ladder("lax").find(response, prompt=prompt)
    assert lax is not None
    assert lax.text == "12"


def test_prompts_that_show_no_form_ask_for_none() -> None:
    assert demanded("What is the answer?") == ()


PHRASES = {
    "Afrikaans": "Die antwoord is 42.", "Albanian": "Përgjigjja është 42.", "Amharic": "መልሱ 42 ነው።",
    "Arabic": "الإجابة النهائية هي 42.", "Armenian": "Պատասխան: 42", "Azerbaijani": "Cavab: 42",
    "Basque": "Erantzuna 42 da.", "Belarusian": "Адказ: 42.", "Bengali": "উত্তর: 42।",
    "Bulgarian": "Отговорът е 42.", "Catalan": "La resposta és 42.", "Chinese": "所以答案是42。",
    "Croatian, Bosnian, Serbian": "Odgovor je 42.", "Czech": "Odpověď je 42.",
    "Danish, Norwegian, Swedish": "Svaret är 42.", "Dutch": "Het antwoord is 42.", "Estonian": "Vastus on 42.",
    "Filipino": "Ang sagot ay 42.", "Finnish": "Vastaus on 42.", "French": "La réponse finale est 42.",
    "Galician, Portuguese": "A resposta é 42.", "Georgian": "პასუხი არის 42.", "German": "Die Antwort lautet: 42.",
    "Greek": "Η απάντηση είναι 42.", "Gujarati": "જવાબ: 42", "Hausa": "Amsa ita ce 42.", "Hebrew": "התשובה היא 42.",
    "Hindi, Marathi, Nepali": "उत्तर 42 है।", "Hungarian": "A válasz: 42.", "Icelandic": "Svarið er 42.",
    "Indonesian, Malay": "Jawaban akhirnya adalah 42.", "Irish": "Freagra: 42", "Italian": "La risposta è 42.",
    "Japanese": "答えは42です。", "Kannada": "ಉತ್ತರ: 42", "Kazakh, Kyrgyz": "Жауабы: 42.", "Khmer": "ចម្លើយគឺ 42",
    "Korean": "정답은 42입니다.", "Lao": "ຄຳຕອບແມ່ນ 42", "Latvian": "Atbilde ir 42.",
    "Lithuanian": "Atsakymas yra 42.", "Macedonian": "Одговорот е 42.", "Malayalam": "ഉത്തരം: 42",
    "Mongolian": "Хариу нь 42.", "Persian, Urdu": "پاسخ: 42", "Polish": "Odpowiedź to 42.", "Punjabi": "ਜਵਾਬ: 42",
    "Romanian": "Răspunsul este 42.", "Russian": "Ответ: 42.", "Sinhala": "පිළිතුර: 42", "Slovak": "Odpoveď je 42.",
    "Slovene": "Odgovor je 42.", "Somali": "Jawaabtu waa 42.", "Spanish": "La respuesta correcta es 42.",
    "Swahili": "Jibu ni 42.", "Tamil": "விடை: 42", "Telugu": "సమాధానం: 42", "Thai": "คำตอบคือ 42",
    "Turkish": "Cevap: 42.", "Ukrainian": "Відповідь: 42.", "Uzbek": "Javob: 42.",
    "Vietnamese": "Đáp án cuối cùng là 42.", "Welsh": "Ateb: 42", "Yoruba": "Ìdáhùn ni 42.",
}  # fmt: skip


def test_every_language_has_a_phrase() -> None:
    assert set(PHRASES) == set(LANGUAGES)
    assert len(LANGUAGES) >= 40


@pytest.mark.parametrize("language", PHRASES)
def test_a_phrase_is_read_in_its_language(language: str) -> None:
    found = phrase(f"41 + 1 = 43 - 1.\n{PHRASES[language]}")
    assert found is not None
    assert found.texts == ("42",)


@pytest.mark.parametrize(
    "response",
    [
        "Antwort geben wir später: 42",
        "Esta respuesta escrita es 42.",
        "Der Beantwortung: 42",
        "उत्तर 42 मिला",
        "An answer to 42",
    ],
)
def test_a_word_for_an_answer_is_no_phrase(response: str) -> None:
    assert phrase(response) is None


def test_phrases_that_stand_together_and_differ_are_a_hedge() -> None:
    hedge, correction = (
        phrase("The answer is 12. The answer is 13."),
        phrase("The answer is 12. Wait, the answer is 13."),
    )
    assert hedge is not None
    assert correction is not None
    assert (hedge.texts, correction.texts) == (("12", "13"), ("13",))


@pytest.mark.parametrize(
    ("use", "response", "reference", "rung"),
    [
        ("math", "She walks 12 miles.", "12", "concluding_number"),
        ("number", "She walks 12 miles.", 12, "concluding_number"),
        ("text", "Paris", "Paris", "short_response"),
        ("time", "Let me see. It surely began in 1789.", 1789, "concluding_time"),
        ("choice", "It is shown in (C).", "C", "concluding_option"),
        ("choice", "It is shown.\nC", "C", "label_line"),
        ("label", "Let me see.\ntrue", True, "label_line"),
    ],
)
async def test_a_verdict_says_that_its_answer_was_found_loosely(
    use: str, response: str, reference: Any, rung: str
) -> None:
    outcome = await judged(use, response, reference)
    assert (outcome.score, outcome.evidence["rule"]) == (1.0, rung)
    assert "loose_extraction" in outcome.flags
    marked = await judged(use, f"\\boxed{{{reference}}}", reference)
    assert marked.score == 1.0
    assert "loose_extraction" not in marked.flags
    assert (await judged(use, response, reference, finish_reason="length")).reason == "no_answer"
    assert (await judged(use, response, reference, prompt=r"Use \boxed{}.")).reason == "no_answer"


YES = {"answer": "Yes", "options": ["Yes", "No"]}


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("Yes, because it has four sides.", 1.0),
        ("It has four sides. So yes, it does.", 1.0),
        ("**Yes**, it does.", 1.0),
        ("No, it is not.", 0.0),
        ("Yes, it may. No, it does not.", 0.0),
        ("Yes, because it has", 0.0),
        ("Yesterday, it did.", 0.0),
        ("It does, yes and no.", 0.0),
    ],
)
async def test_a_sentence_may_open_with_its_label(response: str, score: float) -> None:
    labelled = Use(name="label", params={"labels": ["yes", "no"]})
    assert (await outcome_of(PLANNER, labelled, Sample(response=response, reference="yes"))).score == score
    chosen = await judged("choice", response, YES)
    assert chosen.score == score
    assert score == 0.0 or "loose_extraction" in chosen.flags


CITIES = {"answer": "D", "options": ["Paris", "London", "Rome", "Berlin"]}


@pytest.mark.parametrize(
    ("use", "reference", "response"),
    [
        # an echo of the options
        ("choice", CITIES, "A) Paris\nB) London\nC) Rome\nD) Berlin."),
        ("choice", CITIES, "Options: Paris; London; Rome; Berlin."),
        ("choice", CITIES, "It is Paris. It is London. It is Rome. It is Berlin."),
        ("choice", CITIES, "- Paris\n- London\n- Rome\nBerlin"),
        ("choice", YES, "Answer with: Yes, No."),
        ("choice", YES, "No. Yes."),
        # an opening that the conclusion takes back, or that commits to nothing
        ("label", False, "Yes, that seems so at first. But for n = 2 it fails. Therefore the statement is true."),
        ("label", True, "Yes, that seems so at first. But for n = 2 it fails. Therefore the statement is false."),
        ("label", True, "Right, let us check."),
        ("label", True, "Correct me if I am wrong."),
        # doubt and denial, in English and elsewhere
        ("math", "12", "It is false that it is 12."),
        ("math", "12", "No, it is never 12."),
        ("math", "12", "It exceeds 12."),
        ("math", "12", "The result is not certain: 12."),
        ("math", "12", "It is nearly 12."),
        ("math", "12", "No es 12."),
        ("math", "12", "Das ist nicht 12."),
        ("math", "12", "Это не 12."),
        ("math", "12", "Vielleicht 12."),
        ("choice", {**CITIES, "answer": "B"}, "We rule out London."),
        ("choice", {**CITIES, "answer": "B"}, "We eliminate (B)."),
        ("choice", {**CITIES, "answer": "B"}, "The only wrong option is London."),
        ("choice", {**CITIES, "answer": "C"}, "First, look at option (C)."),
        # two answers
        ("math", "12", "Die Antwort ist 13. Die Antwort ist 12."),
        ("math", "12", "La respuesta es 13. The answer is 12."),
        ("math", "12", "The answer is 12. Or 13."),
        ("math", "12", "The answer is 12; alternatively, 13."),
        ("math", "12", "The answer is 12?"),
        ("math", "12", "13\n12"),
        ("math", "12", "$13$\n$12$"),
        # a step on the way
        ("math", "6", "Let $n = 6$."),
        ("math", "12", "See chapter 12."),
        ("time", 1789, "It was in 1789. But it is"),
        ("choice", {"answer": "B", "options": ["2", "3"]}, "The area is 2 - 3."),
    ],
)
async def test_what_commits_to_no_answer_earns_nothing(use: str, reference: Any, response: str) -> None:
    assert (await judged(use, response, reference)).score == 0.0


@pytest.mark.parametrize(
    ("use", "reference", "response"),
    [
        ("choice", CITIES, "It is Berlin."),
        ("choice", CITIES, "Explain.\nBerlin"),
        ("choice", YES, "Yes"),
        ("choice", YES, "It does.\n\n**Yes**"),
        ("choice", CITIES, "The city is shown in (D)."),
        ("label", True, "Yes, that holds for every n."),
        ("math", "12", "So it is 12."),
        ("math", "12", "The answer is **12** miles."),
        ("math", "12", "The answer is 12 because 6+6=12."),
        ("math", "12", "The answer is 12 ✅"),
        ("math", "12", "She has 12 left.[1]"),
        ("math", "12", "她有12个。"),
        ("math", "12", "Die Antwort ist 12. Die Antwort ist 12."),
        ("time", 1789, "It surely began in 1789."),
    ],
)
async def test_its_honest_twin_scores(use: str, reference: Any, response: str) -> None:
    assert (await judged(use, response, reference)).score == 1.0


@pytest.mark.parametrize("response", ["The answer is 12", "#### 12", "**Final Answer**\n12", "x\nA: 12"])
def test_a_mark_that_nothing_closes_is_no_answer_where_more_was_to_come(response: str) -> None:
    """Attack: be cut off within 1234, where 12 is right."""
    assert read(response, finish_reason="stop") is not None
    assert read(response, finish_reason="length") is None
    assert read(rf"\boxed{{12}} {response}", finish_reason="length") is not None


@pytest.mark.parametrize(
    "prompt", [r"Do not use \boxed{}.", r"Fill the blank: \boxed{?} + 3 = 15", r"\boxed{__} is a number"]
)
def test_a_prompt_that_does_not_ask_for_a_box_demands_none(prompt: str) -> None:
    assert demanded(prompt) == ()


@pytest.mark.parametrize(
    ("reference", "response", "status", "score"),
    [
        ("The area of the triangle is 12 square units", r"\boxed{12}", "scored", 1.0),
        ("The area of the triangle is 12 square units", r"\boxed{13}", "scored", 0.0),
        ("The area of the triangle is 12 square units", r"\boxed{.}", "scored", 0.0),
        ("World War 2 and its long aftermath", r"\boxed{2}", "undecided", None),
        ("every integer that is divisible by 4", r"\boxed{4}", "undecided", None),
        ("Call and answer: a song form", r"\boxed{Call and answer: a song form}", "scored", 1.0),
        ("It is easy. The answer is 12.", r"\boxed{12}", "scored", 1.0),
    ],
)
async def test_prose_as_a_reference(reference: str, response: str, status: str, score: float | None) -> None:
    outcome = await judged("answer", response, reference)
    assert (outcome.status, outcome.score) == (status, score)


@pytest.mark.parametrize(
    "piece",
    [*HOSTILE, '{"answer": ', "answer: ", "Antwort: ", "$1 ", r"\[", "**Answer**\n", "1. ", "答案是1。", "#### 1\n"],
)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    def work(size: int) -> int:
        text = piece * size
        return steps(lambda: read(text))

    work(10)
    counts = [work(size) for size in (10, 100, 1000)]
    assert counts[1] <= 11 * counts[0] + 4000
    assert counts[2] <= 11 * counts[1] + 4000


@pytest.mark.parametrize("use", ["math", "number", "answer"])
@pytest.mark.parametrize("answer", ["12 wrong", "12 is incorrect", "12 (false)", r"12 \text{ wrong}"])
async def test_what_an_answer_takes_back_is_no_unit(use: str, answer: str) -> None:
    assert (await judged(use, rf"\boxed{{{answer}}}", "12")).score == 0.0
    assert (await judged(use, r"\boxed{12 \text{ apples}}", "12")).score == 1.0


@pytest.mark.parametrize(
    ("extraction", "response", "prompt", "feedback"),
    [
        ("auto", "#### 7", BOX, f"{ASKED} {WOULD} (hash)."),
        ("auto", "I give up.", BOX, ASKED),
        ("auto", "I give up.", "Think. Answer in <answer></answer> tags.", "The prompt asks for an answer's tag, and"),
        ("auto", "I give up.", None, None),
        ("strict", "The answer is 7.", None, f"{WOULD} (phrase)."),
        ("strict", "#### 7", BOX, f"{WOULD} (hash)."),
        (["hash"], "\\boxed{7}", None, f"{WOULD} (boxed)."),
        ("explicit", "So 7", None, None),
        ("lax", "No idea", None, None),
    ],
)
@pytest.mark.parametrize("use", ["math", "number", "text", "choice", "label", "time"])
async def test_feedback_says_which_form_was_missed(
    use: str, extraction: Any, response: str, prompt: str | None, feedback: str | None
) -> None:
    """It says the same whatever the reference is."""
    params: dict[str, Any] = {"labels": ["7", "8"]} if use == "label" else {}
    references: tuple[Any, ...] = ("2024-01-07", "2024-01-08") if use == "time" else ("7", "8")
    found = set()
    for reference in references:
        sample = Sample(response=response, reference=reference, prompt=prompt)
        outcome = await outcome_of(PLANNER, Use(name=use, params={"extraction": extraction, **params}), sample)
        assert "7" not in (outcome.feedback or "")
        found.add((outcome.reason, outcome.feedback))
    assert len(found) == 1
    ((reason, told),) = found
    assert reason == "no_answer" or use not in ("math", "number")
    if reason == "no_answer":
        assert (told or "").startswith(feedback or "")
        assert (told is None) == (feedback is None)
