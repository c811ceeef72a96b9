"""Checks that a response begins with a verb: by a list of English verbs and the word that follows.

The official checker uses NLTK's averaged perceptron tagger, whose weights must be downloaded, and which often errs at
the beginning of a text: it takes the first word of "Explore the world" for a preposition and of "Take care" for a name.
A list is deterministic and errs only for verbs that it lacks and nouns that it contains. There are two lists. The first
has words that rarely begin a text as nouns. `verbs.txt` contains every word that can be a verb in English; it is used
if the next word shows that this one is.
"""

from __future__ import annotations

from pathlib import Path

_VERBS_LIST = """
    abbreviate accelerate accept accommodate accompany accomplish achieve acknowledge acquaint acquire activate
    actualize adapt add address adhere adjoin adjust administer admire admit adopt advise advocate affirm aggregate
    agree aim alert align alleviate allocate allow alter alternate amend amplify analyse analyze animate annotate
    announce anticipate apologize appear append apply appoint appraise appreciate approve approximate arise arrange
    arrive articulate ascertain ask assemble assert assess assign assimilate assist assume assure attach attain
    attend attest attract attribute authenticate authorize automate avoid await awaken bake balance baste be
    beautify become befriend beg begin behave believe belong benchmark bend bind bisect blanch blend boast boil
    bolster borrow bother bow brainstorm brainwash braise breathe bring broaden broil browse build burn bury buy
    calculate calibrate capture caramelize carry categorize celebrate center challenge chant cherish choose chop
    circumvent cite clarify classify clean climb clothe co-write coauthor coax collaborate collate collect combat
    combine come commemorate commence communicate compare compensate compile complain complete comply compose
    comprehend compress compute concatenate concede conceive concentrate conceptualize conclude condense conduct
    configure confirm confront congratulate conjugate conjure connect conserve consider consist consolidate
    construct construe consult consume contain containerize contemplate contextualize continue contradict contribute
    converge convert convey convince cooperate coordinate correct corroborate craft cram create crochet cultivate
    customize cut debug decide decipher declare declutter decode decompose decorate dedicate deduce deduct
    deduplicate deepen defend defer define deflate degrade delegate delete deliver delve demonstrate deny depend
    depict deploy depose derail dereference derive describe deserialize deserve destroy detach detect determine
    develop devise devote devour diagnose dice differ differentiate dig dilute dim diminish disagree disappear
    disassemble discern discourage discover discuss dismantle display dispose disprove dissect dissolve dissuade
    distinguish distribute dive diversify divide divulge do dockerize donate dramatize draw drift drink drive
    drizzle earn eat eavesdrop edit educate elaborate elevate elicit eliminate elongate elucidate embark embed
    embody embrace emerge emphasize employ empower emulate enable enact encapsulate encode encounter encourage
    encrypt endeavor endorse endure energize enforce engage engrave enhance enjoy enlarge enlist enrich enroll
    ensure enter entertain enumerate enunciate envisage envision equate equip erase escape establish estimate
    evacuate evaluate evaporate evoke evolve exaggerate examine exceed excel excerpt exchange exclaim exclude
    execute exemplify exercise exfoliate exhibit exist expand expect expedite explain exploit explore expose express
    extend extract extrapolate fabricate face facilitate factorize fall familiarize fasten feed feel ferment fetch
    fill finalize find finetune finish fix flatten fly focus fold follow forbid foresee foretell forget forgive
    forgo form formalize formulate foster free freshen fry fulfil fulfill gain garnish gather gaze generalize
    generate get give glance glorify go grab grasp grate gravitate grind grow guess handle hang happen harness have
    hear hesitate hide highlight hire hold hydrate hypothesize identify ignore illuminate illustrate imagine imitate
    impersonate implement implore imply import improve incite include incorporate increase inculcate indent indicate
    indulge infer inform infuse inhale initialize initiate inject innovate inquire inscribe insert insist inspect
    inspire install instantiate instruct insulate integrate intend intensify interact interpolate interpret
    interrogate intersperse interweave introduce invent invert invest investigate invite involve isolate itemize
    iterate join jot judge jump justify juxtapose keep kick knead knit know lay lead learn leave legalize lend
    lengthen let leverage lie lift liken limit listen live locate look lose love lubricate maintain make manage
    marinate materialize maximize mean measure meet memorize mend merge migrate mimic mince minimize mitigate
    modernize modify modulate moisturize monitor motivate move multiply multitask narrate navigate negotiate
    neutralize normalize notify nourish nurture obey obfuscate obtain occur offer omit open operate optimize
    orchestrate organize outline outmaneuver overcome overhaul own paint parameterize paraphrase pare parse
    participate patronize pay peel perceive perform permit persist persuade peruse pick pinpoint plant pluralize
    ponder portray possess postpone pour practice praise pray prefer preheat prepare prepend preserve presume
    presuppose prevent prioritise prioritize proceed procure produce profess prohibit promote pronounce proofread
    propose protect prove provide prune publish pull pulverize punctuate purify pursue push put quantify quell query
    raise rationalize reach read realize rearrange reassure rebuild recall recap receive recite reckon recognize
    recombine recommend reconcile reconsider reconstruct recreate rectify recycle reduce refactor refer refine
    reflect refrain refresh refurbish refuse refute reheat reimagine reinforce reinstall reiterate reject rejoice
    relate relax release rely remain remember remind reminisce remove render renew reorganize repaint repair replace
    reply represent reproduce repurpose rescue research resemble reserve resist resolve respect respond restore
    restrict resume resurrect retain retell rethink retrieve return reunite reuse reveal revisit rewrite rhyme ride
    rinse rise roast roll rummage run sanitize satisfy saute sauté save savor savour say scatter schedule scrape
    scrub scrutinize seal search secure see seek seem select sell send separate serialize serve set settle sew shake
    share sharpen shift shine shorten show showcase shrink shut sift simmer simplify simulate sing sit situate
    sketch skip slay sleep slice smile smoothen soften solve sort speak specify speculate spell spend spread
    stabilize stand standardize start stay steal steam stick stimulate stipulate stir stitch stop store streamline
    strengthen stretch strive structure struggle strum subdivide submit subscribe substitute subtract succeed
    suggest summarise summarize summon supervise supply support suppose surmise surround survive suspect sustain
    swap swim synthesize tabulate tackle tailor take talk tally taste teach tell tend thank theorize thicken think
    thrive throw tie tighten tokenize toss touch toughen track train transcend transcribe transform translate
    transliterate transmit transmute transpose travel traverse treat trust try turn typeset unbox uncover understand
    undertake unfold unify uninstall unite unleash unlock unpack unplug unravel unscramble unveil unwind update
    upgrade uphold upload urge use utilise utilize validate value vary vectorize ventilate verbalize verify
    visualise visualize vouch wait wake walk wander want warn wash watch wear weave weigh weld whisk whisper widen
    win wish withdraw withstand witness wonder worry wreck write yield zip
"""
_VERBS = _VERBS_LIST.split()
"""Verbs that rarely begin a text as nouns."""

_ALSO_NOUNS_LIST = """
access account act aid alarm amount answer appeal approach argue attack attempt award back bank base bat bathe battle
bear beat bet bid bite blame block board boost bounce box brake brand break breed bridge brush bubble budget bundle
call campaign care cast catch cause center chain change charge chart chase chat check claim close coach code color
comment compound concern contact contest contract contrast control cook cool copy cost count cover crack craft crash
credit critique cross cry cure curl curve cycle damage dance dare dash date deal debate delay delight demand design
desire detail document doubt download draft dream dress drill drop drum dust ease echo edge effect end estimate exit
experience experiment fade fail farm favor fear feature fight figure file film filter finance fish fit flash flip float
flood flow force forecast forge frame freeze fuel function fund garden gift grade grant greet grill grip group guard
guide hack hammer hand harvest head heal heat help hike hit honor hope host house hunt hurry hurt impact influence
input interest interview issue journey label land laugh launch layer lecture level light line link list load lock
log mail map march mark master match matter mention mind mine mix model monitor multiple name need note notice number
object order outline pack page park part pass paste pause perfect phone photograph picture pin place plan play plot
point pool position post power practise present press price print process profile program progress project promise
promote prompt pump purchase question quote race rain range rank rate record refund regard register regret release
remark rent report request rest result reverse review reward risk rock root rotate round rule rush sample sand scale
scan score scream screen seat sense shape shelter shop shout sign signal sketch slide slip slow smell smoke snap sound
source space spark spell spin split spot stage stamp state steer step stress strike strip study style surprise survey
sweep switch target task tax team tear test text thread time tip tool total tour trace trade trail transfer trap trick
trigger trim trip tune twist type view visit voice vote wave welcome whip wind wipe wonder word work wrap zoom
"""
_ALSO_NOUNS = _ALSO_NOUNS_LIST.split()

_IRREGULAR_LIST = """
    am is are was were been being has had having does did done went gone came became began begun brought built bought
    caught chose chosen cut dealt drew drawn drank drunk drove driven ate eaten fell fallen fed felt fought found flew
    flown forgot forgotten forgave forgiven froze frozen got gotten gave given grew grown heard held kept knew known
    laid led left lent let lost made meant met paid put read ran said saw seen sought sold sent set shook shaken shone
    showed shown shut sang sung sat slept spoke spoken spent stood stole stolen stuck swam swum took taken taught told
    thought threw thrown understood woke woken wore worn won wrote written arose arisen broke broken born borne bound
    """
_IRREGULAR = frozenset(_IRREGULAR_LIST.split())
_COMPLEMENTS_LIST = """
    a an the this that these those my your his her its our their me you him it us them any each every some both either
    no all another one two three yourself myself how what why where when who whether up down out off away back into at
    to through carefully closely only
    """
_COMPLEMENTS = frozenset(_COMPLEMENTS_LIST.split())
"""Words that follow a verb more often than a noun."""
_VOWELS = "aeiou"
_HISSING = ("s", "x", "z", "ch", "sh", "o")
_NO_VERBS = frozenset(("bed", "bes", "bing", "seed"))
"""Non-words that the regular endings make of "be" and "see"."""


def stems(verb: str) -> tuple[str, ...]:
    """Returns the stems to which endings are added: "mak" for "make"; "plann" as well for "plan", and "carri" for
    "carry".
    """
    if verb.endswith("ie"):
        return (verb, f"{verb[:-2]}y")
    if verb.endswith("e"):
        return (verb[:-1], verb) if verb.endswith("ee") else (verb[:-1],)
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return (verb, f"{verb[:-1]}i")
    if len(verb) > 2 and verb[-1] not in f"{_VOWELS}wxy" and verb[-2] in _VOWELS and verb[-3] not in _VOWELS:
        return (verb, verb + verb[-1])
    return (verb,)


def third_person(verb: str) -> str:
    """Returns the form after "he" or "she"."""
    if stems(verb)[-1].endswith("i"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(_HISSING) else f"{verb}s"


def _forms() -> frozenset[str]:
    """Every form that is a verb whatever follows it."""
    found = set(_VERBS) | _IRREGULAR
    for verb in (*_VERBS, *_ALSO_NOUNS):
        for stem in stems(verb):
            found.update((f"{stem}ing", f"{stem}ed"))
    found.update(map(third_person, _VERBS))
    return frozenset(found - _NO_VERBS)


_FORMS = _forms()
_INFLECTED = frozenset(Path(__file__).with_name("verbs.txt").read_text(encoding="utf-8").split())
"""Base forms of every verb, most of which are nouns or adjectives as well."""
_NOUNS_TOO = (_INFLECTED | frozenset(_ALSO_NOUNS)) - _FORMS
_PREFIXES = ("de", "dis", "mis", "over", "pre", "re", "un", "under")
_SUFFIXES = ("ify", "ize")
_AFTER_NOUNS_LIST = "of is are was were has have had can could will would should may might must"
_AFTER_NOUNS = frozenset(_AFTER_NOUNS_LIST.split())
"""Words that follow a noun more often than a verb."""


def _derived(word: str) -> bool:
    """Returns whether a word is derived from a verb, or by a suffix that makes verbs: "reheat", "modularize"."""
    if word not in _INFLECTED or word in _ALSO_NOUNS:
        return False
    return word.endswith(_SUFFIXES) or any(
        word.startswith(prefix) and word.removeprefix(prefix) in _FORMS for prefix in _PREFIXES
    )


def is_verb(word: str, following: str) -> bool:
    """Returns whether a text's first word is a verb, given its second word ("" if there is none)."""
    small, after = word.lower(), following.lower()
    if "-" in small and after in _COMPLEMENTS:  # "double-check", "stir-fry"
        small = small.rpartition("-")[2]
    if small in _FORMS or (small in _NOUNS_TOO and after in _COMPLEMENTS):
        return True
    return after.isalnum() and after not in _AFTER_NOUNS and _derived(small)
