"""Checks that a response begins with a verb: by a list of English verbs and the word that follows.

The official checker asks NLTK's averaged perceptron tagger, whose weights are a download and which errs often where a
text begins: it takes the first word of "Explore the world" for a preposition and of "Take care" for a name. A list
says the same every time and errs less; a verb that is not in it, and a noun that is, are its errors.
"""

from __future__ import annotations

_VERBS_LIST = """
    accept accommodate accompany accomplish achieve acknowledge acquire adapt add address adhere adjust admire admit
    adopt advise advocate affirm agree aim alert align allocate allow alter amplify analyze analyse anticipate
    apologize appear apply appoint appreciate approve arise arrange arrive articulate ascertain ask assemble assert
    assess assign assist assume assure attach attain attend attract avoid await awaken bake balance be become befriend
    beg begin behave believe belong bend bind blend boil borrow bother bow breathe bring build burn bury buy calculate
    capture carry celebrate challenge cherish choose chop clarify classify clean climb clothe collaborate collect
    combine come communicate compare compile complain complete compose comprehend compute concentrate conclude conduct
    confirm confront congratulate connect consider consist construct consult consume contain contemplate continue
    contribute convert convey convince cooperate coordinate correct create cultivate cut decide declare dedicate
    deepen define delegate delete deliver delve demonstrate deny depend depict derive describe deserve destroy detect
    determine develop devise devote differ differentiate dig diminish disagree disappear discover discuss display
    dispose distinguish distribute dive diversify divide do donate draw drift drink drive earn eat edit educate
    elaborate elevate eliminate embark embed embody embrace emerge emphasize employ empower enable encounter encourage
    endeavor endure engage enhance enjoy enlarge enlist enrich enroll ensure enter entertain enumerate envision equip
    erase escape establish estimate evaluate evoke evolve examine exceed excel exchange exclude execute exercise
    exhibit exist expand expect expedite explain exploit explore expose express extend extract face facilitate fall
    familiarize feed feel fetch fill finalize find finish fix fly focus fold follow forbid forget forgive form
    formulate foster free fulfil fulfill gain gather gaze generate get give glance go grab grasp grow guess handle
    hang happen harness have hear hesitate hide highlight hire hold identify ignore illuminate illustrate imagine
    imitate implement imply import improve include incorporate increase indicate indulge infer inform infuse inhale
    initiate inject innovate inquire insert insist inspect inspire install integrate intend interact interpret
    introduce invent invest investigate invite involve isolate join judge jump justify keep kick knit know lay lead
    learn leave lend let leverage lie lift limit listen live locate look lose love maintain make manage maximize mean
    measure meet memorize merge migrate minimize mitigate modify monitor motivate move multiply navigate negotiate
    nourish nurture obey obtain occur offer omit open operate optimize organize outline overcome own paint participate
    pay perceive perform permit persist persuade pick plant ponder possess postpone pour practice praise pray prefer
    prepare preserve presume prevent prioritize proceed produce prohibit promote pronounce propose protect prove
    provide publish pull pursue push put raise reach read realize rearrange reassure rebuild recall receive reckon
    recognize recommend reconcile reconsider reconstruct recycle reduce refer refine reflect refrain refresh refuse
    reinforce reject rejoice relate relax release rely remain remember remind remove render renew reorganize repair
    replace reply represent reproduce rescue research resemble reserve resist resolve respect respond restore restrict
    resume retain rethink retrieve return reuse reveal revisit rewrite ride rinse rise roll run satisfy save savor
    savour say scatter schedule scrutinize seal search secure see seek seem select sell send separate serve set settle
    sew shake share shift shine show shrink shut simplify simulate sing sit sketch skip sleep slice smile solve sort
    speak specify spend spread stand start stay steal stick stimulate stir stop store streamline strengthen stretch
    strive structure struggle submit substitute succeed suggest summarize supply support suppose surround survive
    suspect sustain swim synthesize tackle take talk taste teach tell tend thank think thrive throw tie toss touch
    track train transcend transform translate transmit travel traverse treat trust try turn uncover understand
    undertake unite unleash unlock unravel unveil update upgrade uphold urge use utilize validate value vary verify
    visualize wait wake walk wander want warn wash watch wear weave weigh whisper widen win wish withdraw withstand
    witness wonder worry write yield
"""
_VERBS = _VERBS_LIST.split()
"""Verbs that hardly begin a text as nouns."""

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
input interest interview issue journey label land laugh launch layer lecture level light like line link list load lock
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
"""Words that follow a verb rather than a noun."""
_VOWELS = "aeiou"
_HISSING = ("s", "x", "z", "ch", "sh", "o")
_NO_VERBS = frozenset(("bed", "bes", "bing", "seed"))
"""Words that the regular endings make of "be" and "see"."""


def _stems(verb: str) -> tuple[str, ...]:
    """Returns what endings may be added to: "make" gives "mak", "plan" gives "plann", "carry" gives "carri" besides."""
    if verb.endswith("ie"):
        return (verb, f"{verb[:-2]}y")
    if verb.endswith("e"):
        return (verb[:-1], verb) if verb.endswith("ee") else (verb[:-1],)
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return (verb, f"{verb[:-1]}i")
    if len(verb) > 2 and verb[-1] not in f"{_VOWELS}wxy" and verb[-2] in _VOWELS and verb[-3] not in _VOWELS:
        return (verb, verb + verb[-1])
    return (verb,)


def _forms() -> frozenset[str]:
    """Every form that is a verb whatever follows."""
    found = set(_VERBS) | _IRREGULAR
    for verb in (*_VERBS, *_ALSO_NOUNS):
        for stem in _stems(verb):
            found.update((f"{stem}ing", f"{stem}ed"))
    for verb in _VERBS:
        if _stems(verb)[-1].endswith("i"):
            found.add(f"{verb[:-1]}ies")
        else:
            found.add(f"{verb}es" if verb.endswith(_HISSING) else f"{verb}s")
    return frozenset(found - _NO_VERBS)


_FORMS = _forms()
_NOUNS_TOO = frozenset(_ALSO_NOUNS) - _FORMS


def is_verb(word: str, following: str) -> bool:
    """Returns whether a text's first word is a verb, given its second word ("" where it has none)."""
    small = word.lower()
    return small in _FORMS or (small in _NOUNS_TOO and following.lower() in _COMPLEMENTS)
