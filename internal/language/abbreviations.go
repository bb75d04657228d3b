package language

// Abbreviations are lists of words, in lower case and without the last full stop, that decide whether a full stop ends
// a sentence. They hold what is frequent in scholarly texts; a missing one cuts a quote short.
type Abbreviations struct {
	// Never are abbreviations that never end a sentence: titles before a name, "e.g.".
	Never string
	// Titles never end a sentence if they are capitalized: "Gen." is a general, "gen." ends a sentence. Languages that
	// write titles in lower case list them in Never.
	Titles string
	// Numbered are abbreviations before a number, and ordinary words elsewhere: "no.", "fig.", "Mar.".
	Numbered string
	// Either are abbreviations that may end a sentence, so that the next word decides.
	Either string
	// Openers are words that are capitalized only at the beginning of a sentence.
	Openers string
	// Ordinals means that a number with a full stop is an ordinal ("im 19. Jahrhundert").
	Ordinals bool
}

// The abbreviations of scholarly writing in all languages with Latin letters.
const (
	scholarlyNever    = `e.g eg i.e ie cf viz ibid ed eds resp incl esp vs v`
	scholarlyNumbered = `no nos nr fig figs eq eqs eqn sec sect ch chap vol vols p pp art arts ref refs tab ex def thm
		prop lem cor ver op par para app ser pt bd pl n nn`
	scholarlyEither = `al etc ca approx inc ltd co corp jr sr bros dept univ est cit loc et seq hrsg trans repr rev b.c
		a.d b.c.e c.e ph.d m.d b.a m.a u.s u.k u.n e.u a.m p.m`
)

const englishTitles = `mr mrs ms messrs dr drs prof st ste mt ft gen col lt maj sgt cpl cpt capt cmdr adm rev hon sen
	rep gov pres msgr supt ph`

const englishMonths = `jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun`

const englishOpeners = `a an the this that these those it its he his she her they their we our i my you your in on at
	for from as by to with of but and or nor so yet if when while where after before since because although though
	unless until however therefore thus hence moreover furthermore meanwhile finally nevertheless instead indeed there
	here then what who why how which not no some many most all both each other another such one two several few first
	second third during despite according among between under over through without within unlike like also even only`
