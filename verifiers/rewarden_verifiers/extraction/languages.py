"""Words that announce an answer, by language: cues, the links between a cue and its answer, and the words that can
follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """Words in lower case. cues: words for the answer. links: verbs after a cue; a colon always links. whole: cues that
    need no link. tails: verbs after the answer, in languages that put them there. spaced: whether it separates words by
    spaces.
    """

    cues: tuple[str, ...]
    links: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()
    spaced: bool = True


LANGUAGES: Mapping[str, Language] = {
    "Afrikaans": Language(("antwoord",), ("is",)),
    "Albanian": Language(("përgjigjja", "përgjigja"), ("është",)),
    "Amharic": Language(("መልሱ", "መልስ"), (), (), ("ነው",)),
    "Arabic": Language(("الإجابة", "الاجابة", "الجواب", "إجابة", "جواب"), ("الصحيحة هي", "النهائية هي", "هي", "هو")),
    "Armenian": Language(("պատասխանը", "պատասխան"), (), (), ("է",)),
    "Azerbaijani": Language(("cavab",)),
    "Basque": Language(("erantzuna",), (), (), ("da",)),
    "Belarusian": Language(("адказ",)),
    "Bengali": Language(("উত্তরটি", "উত্তর"), ("হল", "হলো")),
    "Bulgarian": Language(("отговорът", "отговор"), ("е",)),
    "Catalan": Language(("resposta",), ("és", "correcta és")),
    "Chinese": Language(
        ("答案",), ("应该是", "應該是", "就是", "是", "为", "為"), ("故选", "故選"), spaced=False
    ),
    "Croatian, Bosnian, Serbian": Language(("odgovor", "одговор"), ("je", "glasi", "је")),
    "Czech": Language(("odpověď", "výsledek"), ("je", "zní")),
    "Danish, Norwegian, Swedish": Language(("svaret", "svar"), ("er", "är", "blir")),
    "Dutch": Language(("antwoord",), ("is", "luidt")),
    "Estonian": Language(("vastus",), ("on",)),
    "Filipino": Language(("sagot",), ("ay",)),
    "Finnish": Language(("vastaus",), ("on",)),
    "French": Language(("réponse",), ("finale est", "correcte est", "est")),
    "Galician, Portuguese": Language(("resposta",), ("final é", "correta é", "correcta é", "é")),
    "Georgian": Language(("პასუხი",), ("არის",)),
    "German": Language(("antwort", "endergebnis"), ("lautet", "ist")),
    "Greek": Language(("απάντηση",), ("είναι",)),
    "Gujarati": Language(("જવાબ",), (), (), ("છે",)),
    "Hausa": Language(("amsa",), ("ita ce",)),
    "Hebrew": Language(("התשובה", "תשובה"), ("הסופית היא", "הנכונה היא", "היא")),
    "Hindi, Marathi, Nepali": Language(("उत्तर", "जवाब"), (), (), ("है", "हैं", "आहे", "हो")),
    "Hungarian": Language(("válasz", "végeredmény")),
    "Icelandic": Language(("svarið",), ("er",)),
    "Indonesian, Malay": Language(
        ("jawabannya", "jawaban", "jawapan"), ("akhirnya adalah", "yang benar adalah", "adalah", "ialah")
    ),
    "Irish": Language(("freagra",)),
    "Italian": Language(("risposta",), ("finale è", "corretta è", "è")),
    "Japanese": Language(
        ("答え", "解答", "正解", "回答"),
        ("は", "が"),
        (),
        ("です", "である", "となります", "になります", "だ"),
        spaced=False,
    ),
    "Kannada": Language(("ಉತ್ತರ",)),
    "Kazakh, Kyrgyz": Language(("жауабы", "жауап", "жооп")),
    "Khmer": Language(("ចម្លើយ",), ("គឺ",), spaced=False),
    "Korean": Language(
        ("정답", "답변", "답"), ("은", "는", "이"), (), ("입니다", "이다", "이에요", "예요"), spaced=False
    ),
    "Lao": Language(("ຄຳຕອບ",), ("ແມ່ນ", "ຄື"), spaced=False),
    "Latvian": Language(("atbilde",), ("ir",)),
    "Lithuanian": Language(("atsakymas",), ("yra",)),
    "Macedonian": Language(("одговорот",), ("е",)),
    "Malayalam": Language(("ഉത്തരം",), (), (), ("ആണ്",)),
    "Mongolian": Language(("хариулт", "хариу"), ("нь",)),
    "Persian, Urdu": Language(("پاسخ", "جواب"), ("نهایی", "صحیح"), (), ("است", "ہے")),
    "Polish": Language(("odpowiedź", "wynik"), ("to", "brzmi", "wynosi")),
    "Punjabi": Language(("ਉੱਤਰ", "ਜਵਾਬ"), (), (), ("ਹੈ",)),
    "Romanian": Language(("răspunsul", "răspuns"), ("final este", "corect este", "este")),
    "Russian": Language(("ответ",), ("равен", "это")),
    "Sinhala": Language(("පිළිතුර",)),
    "Slovak": Language(("odpoveď",), ("je",)),
    "Slovene": Language(("odgovor",), ("je",)),
    "Somali": Language(("jawaabtu", "jawaab"), ("waa",)),
    "Spanish": Language(("respuesta",), ("final es", "correcta es", "es")),
    "Swahili": Language(("jibu",), ("ni",)),
    "Tamil": Language(("விடை", "பதில்")),
    "Telugu": Language(("సమాధానం", "జవాబు")),
    "Thai": Language(("คำตอบ",), ("ที่ถูกต้องคือ", "คือ"), spaced=False),
    "Turkish": Language(("cevap", "yanıt")),
    "Ukrainian": Language(("відповідь",), ("дорівнює", "це")),
    "Uzbek": Language(("javob",)),
    "Vietnamese": Language(("đáp án", "đáp số", "câu trả lời", "trả lời"), ("cuối cùng là", "đúng là", "là")),
    "Welsh": Language(("ateb",), ("yw",)),
    "Yoruba": Language(("ìdáhùn",), ("ni",)),
}  # fmt: skip
"""All languages but English, whose cues are searched in the whole response."""
