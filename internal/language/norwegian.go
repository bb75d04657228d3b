package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/norwegian"
)

var norwegianLanguage = &Language{
	Code: "no", Name: "Norwegian", Script: unicode.Latin,
	Aliases: "nor nb nn nob nno norsk nynorsk bokmål",
	Stem:    norwegian.Stem,
	StopWords: `alle at av begge ble bli blir da de deg dem den denne der deres det dette din disse du eller en enn er
		et etter for fordi fra før ha hadde han hans har hennes her hos hun hva hvem hver hvilke hvilken hvilket hvis
		hvor hvordan hvorfor i ikke inn innen jeg kan kunne man med meg mellom men mer min mot mye må nå når og også om
		opp oss over på samt seg ser sin skal skulle som så til under ut var ved vi vil ville vår være vært`,
	Letters: "æøå",
}
