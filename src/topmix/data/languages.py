"""What belongs to a language: its stop words, and its stemmer.

English stop words are scikit-learn's. Those of 57 other languages are in the package stopwordsiso, and stemmers of 30
in snowballstemmer: `pip install 'topmix[languages]'`. The most frequent function words of some languages are here:
they say which languages are in the texts, and are left out by default.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

ENGLISH_SHARE = 0.2  # of the tokens of an English text, about 0.4 are stop words; of other texts, under 0.1
CODES = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "bengali": "bn", "bulgarian": "bg", "catalan": "ca",
    "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "estonian": "et", "finnish": "fi",
    "french": "fr", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu",
    "indonesian": "id", "irish": "ga", "italian": "it", "japanese": "ja", "korean": "ko", "latvian": "lv",
    "lithuanian": "lt", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro",
    "russian": "ru", "slovak": "sk", "slovenian": "sl", "spanish": "es", "swedish": "sv", "thai": "th",
    "turkish": "tr", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",
}  # fmt: skip
PRESENT = 1 / 3  # of the function words of a language, where some texts are in it
FUNCTION_WORDS = {language: words.split() for language, words in {
    "danish": "af andre at blev blive da de den der deres det dette disse du efter eller en end er et for fra "
              "han har hun hvad hvis hvor ikke jeg kan kun man med meget men mere mod når og også om op os på "
              "sig sin skal som til ud ved vi vil være været",
    "dutch": "aan al als altijd bij dan dat de deze die dit doch door een en er ge geen geweest haar heb hebben "
             "heeft hem het hij hoe hun iets ik in is ja je kan kunnen maar meer met mijn moet naar niet niets "
             "nog nu of om omdat ons ook op over te tegen tot uit van veel voor want waren was wat werd wie "
             "wij worden wordt zal ze zei zich zij zijn zo zonder zou",
    "french": "afin ainsi alors au aussi autre aux avec avoir ce ces cet cette ceux comme dans de depuis des "
              "donc dont du elle elles en encore entre est et eu fait furent il ils je la le les leur leurs "
              "lorsque mais même mêmes ne nos notre nous on ont ou où par pas peu peut plus pour puis quand que "
              "quel quelle quelques qui sa sans se sera ses si soit son sont sous sur telle tous tout toute "
              "toutes très un une vers vous été était être",
    "german": "aber alle als also am an auch auf aus bei beim bereits bis da damit dann das dass dem den denn der "
              "des dessen die dies diese diesem diesen dieser dieses doch dort durch ein eine einem einen "
              "einer eines er es etwa für gegen haben hat hatte ich ihm ihr ihre im in ist jedoch kann kein "
              "keine können man mehr mit muss nach nicht noch nun nur ob oder ohne schon sehr sein seine sich "
              "sie sind so sondern sowie um und uns unter vom von vor war waren was weil wenn werden wie wir "
              "wird wurde wurden zu zum zur zwischen über",
    "italian": "agli ai al alla alle altri anche ancora che chi ci come con così cui da dai dal dalla dalle "
               "degli dei del dell della delle dello di dopo due dove ed era essere fra gli ha hanno il in io la "
               "le lo loro ma mentre nei nel nell nella nelle non o ogni per perché però più poi prima quale "
               "quando quella quello questa queste questi questo se sempre senza si sia sono stata stato "
               "su sua sul sulla suo suoi sull tra tutti tutto un una uno è",
    "norwegian": "alle at av bare ble blir da de den denne der det dette du eller en er et etter for fra ha han "
                 "har hun hva hvis hvor hvordan ikke jeg kan med mellom men mer mot nå når og også om opp oss "
                 "på seg selv sin skal slik som så til ut var ved vi vil være vært",
    "polish": "aby ale bez bo był była było były być ci co czy dla do gdy gdzie go ich im ja jak jako je jednak "
              "jego jej jest jeszcze już każdy która które którego której który których lub ma może można na nad nie "
              "niż nich o od oraz po pod przed przez przy się są ta tak także tam te tego tej ten to tu tylko "
              "tym tych w we więc wszystko z za ze że",
    "portuguese": "ainda ao aos as até cada com como da das de dela dele desta deste do dos ela elas ele eles em "
                  "entre era essa esse esta este está estão eu foi foram há isso isto já lhe mais mas mesmo muito "
                  "na nas nem no nos nossa não nós os ou para pela pelas pelo pelos pode por porque qual quando "
                  "que quem se sem ser seu seus sobre sua suas são só também tem ter um uma umas uns você à às é",
    "russian": "без бы был была были было быть вас весь во вот все вы где да даже для до его ее если есть еще же за "
               "из или им их как ко когда кто ли либо мне может мы на над не него нее нет ни них но ну об однако он "
               "она они оно от очень по под при со так также такой там те тем то того тоже той только том ты уже хотя "
               "чего чем что чтобы эта эти это этого этой этот",
    "spanish": "al algo antes aunque cada como con cual cuando de del desde donde dos el ella ellas ellos en "
               "entre era es esa ese eso esta estas este esto estos está están fue fueron ha había han "
               "hasta hay la las le les lo los mediante me mi mientras muy más ni no nos o otra otras otros para pero "
               "por porque puede pueden que quien quién se sea según ser si sido sin sobre son su sus "
               "también tan tanto te tiene tienen todo todos tras tu un una uno unos ya",
    "swedish": "alla att av bara blev bli blir de den denna det detta dessa du efter eller en ett fram från för ha "
               "hade han har hon hur här i icke in inom inte jag kan man med mellan men mer mot måste ni nog nu "
               "när något några och också om oss på sig sin sina själv ska skulle som så till under upp ut utan "
               "vad var vara varit vi vid vilka vilket är än även åt",
    "turkish": "ama ancak bazı ben bir biz bu bunu bunun bütün çok çünkü da daha de değil diye en gibi "
               "göre hangi hem hep her hiç için ile ise kadar karşı ki kim mı mi mu mü nasıl ne neden nerede niçin "
               "o olan olarak oldu olduğu onlar onu onun sadece sonra şey şu tüm ve veya ya yani",
}.items()}  # fmt: skip
# Those that are also words, names or abbreviations in English texts. They say nothing about the language, and are left
# out only where the texts are not English.
_ALSO_ENGLISH = frozenset(
    """
    ai al ale algo als also am ama an andre as at att au av bare ben bis bo bu ce chi ci co com come con da dal dan das
    dat de dell dem den der det die dies dit do dont door dos dove du due ed em en end entre er era es esa ese est et
    eu for fra fram ge go ha han hat hay hem hep her hoe hon hun hur il im in io is ise ist ja je ki kim kun lo ma man
    mas me med men mer mere met mi mit mod mot mu na nad nas ne nel ni nie no nog non nos nu nun ob od of om on ons op
    opp os ou over par para pas per plus po pod poi pour prima qual sa sans se sea sem ser si sia sie sig sin sina so
    som son stata su sur sus ta tam tan te tem ten ter til till to todo tot tout tra tu ud um un under uns ut van var
    vara ve vers vi vid vil want war was wat we wie ya za ze zo zu
    """.split()  # noqa: SIM905
)


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> list[str]:
    """The stop words, sorted: a list that is given, or the list of a language."""
    if stop_words is None:
        return []
    if isinstance(stop_words, str):
        return _stop_words_of(stop_words)
    words = list(stop_words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words holds {word!r}, which is not a string")
    return sorted(set(words))


def looks_english(terms: Iterable[tuple[str, int]]) -> bool:
    """Whether texts with these words and frequencies are English: at least a fifth of the tokens are stop words."""
    stop_words, stopped, total = set(_stop_words_of("english")), 0, 0
    for term, count in terms:
        total += count
        stopped += count if term.lower() in stop_words else 0
    return total > 0 and stopped >= ENGLISH_SHARE * total


def other_stop_words(words: Container[str], is_english: bool) -> dict[str, list[str]]:
    """Function words, by language, of the languages other than English that some of the texts with these words are in:
    those of which a third of the function words is there."""
    found = {}
    for language, function_words in FUNCTION_WORDS.items():
        telling = [word for word in function_words if len(word) > 1 and word not in _ALSO_ENGLISH]
        if sum(word in words for word in telling) >= PRESENT * len(telling):
            found[language] = [word for word in (telling if is_english else function_words) if word in words]
    return found


def stemmer_of(language: str) -> Callable[[str], str]:
    """A function from a word to its stem."""
    try:
        import snowballstemmer
    except ImportError as error:
        raise ImportError("stemming needs the package snowballstemmer: pip install 'topmix[languages]'") from error
    if language not in snowballstemmer.algorithms():
        raise ValueError(
            f"stemmer={language!r}: pass one of {', '.join(sorted(snowballstemmer.algorithms()))}, or None"
        )
    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem


def _stop_words_of(language: str) -> list[str]:
    if language == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)
    code = CODES.get(language.lower(), language)
    try:
        import stopwordsiso
    except ImportError as error:
        if code not in CODES.values():
            raise ValueError(f'stop_words={language!r}: pass "english", another language or a list of words') from error
        raise ImportError(
            f"the stop words of {language!r} are in the package stopwordsiso: pip install 'topmix[languages]'; or pass "
            'a list of words, or "english"'
        ) from error
    if not stopwordsiso.has_lang(code):
        raise ValueError(
            f'stop_words={language!r} is not a language with a list: pass "english", a list of words, None, or one of '
            f"{', '.join(sorted(CODES))}"
        )
    return sorted(stopwordsiso.stopwords(code))
