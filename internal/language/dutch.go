package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/dutch"
)

var dutchLanguage = &Language{
	Code: "nl", Name: "Dutch", Script: unicode.Latin,
	Aliases: "nld dut nederlands flemish",
	Stem:    dutch.Stem,
	StopWords: `aan al alle als ben bij binnen dan dat de deze die dit doen door dus een en er geen had hadden hebben
		heeft hem het hier hij hoe hun ik in is ja je kan kon kunnen maar me meer men met mijn moet na naar niet nog nu
		of om omdat onder ons ook op over te tegen tot tussen uit u van veel voor waar waarom wanneer waren was wat we
		wel welk welke werd werden wie wij wil worden wordt zal ze zich zij zijn zo zou zonder zoals`,
	Abbreviations: &Abbreviations{
		Titles: englishTitles,
		Never: scholarlyNever + ` dhr mevr mw drs ir ing bijv bv d.w.z o.a m.a.w t.a.v i.p.v z.g
			zgn resp`,
		Numbered: scholarlyNumbered + ` nr blz afb hfst jan feb mrt apr jun jul aug sep okt nov dec`,
		Either:   scholarlyEither + ` enz e.d n.chr v.chr`,
		Openers: `de het een dit dat deze die hij zij ze wij we ik zijn haar hun in op aan bij met van voor na naar uit
			over onder door tot en of maar want als toen wanneer omdat hoewel terwijl sinds volgens ook niet er hier
			daar zo wat wie waar hoe waarom echter daarom bovendien`,
	},
	Vocabulary: &Vocabulary{
		HowMany: `hoeveel|hoe oud|hoe lang|hoe ver|hoe hoog|hoe groot|hoe vaak`,
		When:    `wanneer|welk jaar|in welk jaar|welke eeuw`,
		Who:     `wie`,
		Where:   `waar`,
		Why:     `waarom`,
		Numbers: `twee drie vier vijf zes zeven acht negen tien elf twaalf honderd duizend miljoen miljard helft derde
			procent`,
		Dates: `januari februari maart april mei juni juli augustus september oktober november december eeuw
			decennium`,
		Causes:   `omdat door wegens reden oorzaak daarom`,
		Subjects: `hij zij ze het dit dat deze die zijn haar hun`,
		Pronouns: `hij hem zijn zij ze haar hun hen dit deze ervan daarvan`,
	},
}
