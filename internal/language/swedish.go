package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/swedish"
)

var swedishLanguage = &Language{
	Code: "sv", Name: "Swedish", Script: unicode.Latin,
	Aliases: "swe svenska",
	Stem:    swedish.Stem,
	StopWords: `alla att av bara blev bli blir de dem den denna deras dess dessa det detta dig din du där då efter ej
		eller en er ett finns från för före genom ha hade han hans har hennes här hon hos hur hänne i icke in inom inte
		jag kan kunde man med mellan men mer mig min mot mycket ni nu när någon något några och också om oss på samt
		sig sin sina ska skall skulle som så till under upp ut utan vad var varför vara varit vem vet vi vid vilka
		vilken vilket vill år är över`,
	Letters: "åäö",
	Abbreviations: &Abbreviations{
		Never:    scholarlyNever + ` t.ex bl.a d.v.s dvs s.k p.g.a m.a.o f.d ev inkl prof dr`,
		Numbered: scholarlyNumbered + ` nr s sid kap`,
		Either:   scholarlyEither + ` osv m.m m.fl o.d`,
		Openers: `den det de en ett denna detta dessa han hon vi jag sin sitt i på av för med till från om under över
			efter före vid men och eller när som att så där här inte även också dock vad vem hur varför`,
	},
}
