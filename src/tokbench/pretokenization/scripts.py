"""Splitting at changes of script, as SentencePiece does by default (``split_by_unicode_script``).

A script is the Unicode property of that name. As in SentencePiece, Hiragana, Katakana and their prolonged sound mark
count as Han, and a combining mark (Inherited) has the script of its base character. Digits, punctuation and other
characters shared by scripts (Common) form one more script.

A space (U+0020) has no script. Between two words of one script it does not split; between words of different scripts it
belongs to the second word. At the end of a text, spaces are one pre-token. Scripts added after Unicode 16 count as one.
"""

from functools import cache

from tokbench.pretokenization import Cut, pretokenization

SCRIPTS = """\
Latin Cyrillic Greek Arabic Hebrew Devanagari Hangul Thai Bengali Tamil Telugu Gujarati Gurmukhi Kannada
Malayalam Sinhala Oriya Georgian Armenian Ethiopic Khmer Lao Myanmar Tibetan Mongolian Unknown Adlam Ahom
Anatolian_Hieroglyphs Avestan Balinese Bamum Bassa_Vah Batak Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid
Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Coptic Cuneiform Cypriot Cypro_Minoan
Deseret Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Garay Glagolitic Gothic Grantha Gunjala_Gondi
Gurung_Khema Hanifi_Rohingya Hanunoo Hatran Imperial_Aramaic Inscriptional_Pahlavi Inscriptional_Parthian Javanese
Kaithi Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khojki Khudawadi Kirat_Rai Lepcha Limbu Linear_A Linear_B Lisu
Lycian Lydian Mahajani Makasar Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui
Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mro Multani Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu
Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian
Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician
Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sogdian Sora_Sompeng Soyombo
Sundanese Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tangsa Tangut Thaana Tifinagh
Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
"""
"""Long names of the scripts of Unicode 16, frequent ones first, without those that count as Han."""
HAN = r"\p{Han}\p{Hiragana}\p{Katakana}\u30FC"
COMMON = r"^\P{Common} \u30FC"
"""Common, without the characters treated separately."""
JOINING_CHARACTERS = r"[ \p{Inherited}]"


def _run(letters: str) -> str:
    """Return a pattern of one script: its characters, spaces and marks between and before them, and marks after them.

    All repetitions are possessive: their parts begin with different characters.
    """
    return rf"{JOINING_CHARACTERS}*+[{letters}]++(?:{JOINING_CHARACTERS}++[{letters}]++)*+\p{{Inherited}}*+"


@cache
def pattern() -> str:
    """Return the regular expression: alternatives for each script, for scripts not listed, and for the rest."""
    listed = [rf"\p{{{name}}}" for name in SCRIPTS.split()]
    unlisted = rf"^ \p{{Inherited}}\p{{Common}}{HAN}{''.join(listed)}"
    first, *others = listed
    return "|".join([*map(_run, (first, COMMON, HAN, *others, unlisted)), f"{JOINING_CHARACTERS}+"])


@pretokenization("scripts", chosen=True, cites=("kudo2018sentencepiece",))
def scripts(options: object) -> Cut:
    """Changes of script; a space belongs to the word after it, digits and punctuation are one more script."""
    from tokbench.pretokenization.patterns.cut import cut_by_patterns

    return cut_by_patterns(pattern())
