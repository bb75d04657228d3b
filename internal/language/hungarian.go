package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/hungarian"
)

var hungarianLanguage = &Language{
	Code: "hu", Name: "Hungarian", Script: unicode.Latin,
	Aliases: "hun magyar",
	Stem:    hungarian.Stem,
	StopWords: `a az és egy hogy nem is ez ezt ezek azt azok ami amit amely amelyek aki akik de vagy van vannak volt
		voltak lesz lehet meg csak már még mint minden mi mit milyen miért mikor miként hol hogyan ki kik hány mely
		melyik melyek én te ő ti ők ha akkor ahol amikor el le fel be után előtt között alatt szerint által való
		így úgy úgyhogy sem se nincs itt ott ennek annak ezen azon ebben abban erre arra majd pedig illetve valamint
		mert`,
	Letters: "őűöü",
}
