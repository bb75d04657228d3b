package analysis

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"carrel/internal/language"
)

// conflations are groups of words that share a stem, and similar words that do not (apart). Many would be stemmed
// wrongly if accents were dropped too early.
var conflations = map[string]struct {
	together []string
	apart    []string
}{
	"ar": {
		[]string{
			"جامعة الجامعة جامعات الجامعات والجامعات", "كتاب الكتاب والكتاب كِتَاب كـتاب كتابه", "مسلمون مسلمين المسلمين",
			"أحمد احمد",
		},
		[]string{"كتاب مكتبة"},
	},
	"da": {
		[]string{"undersøgelse undersøgelser undersøgelsen undersøgelserne", "bøger bøgerne"}, []string{"lov lyd brød"},
	},
	"de": {
		[]string{"Bibliothek Bibliotheken", "Haus Hauses Häuser", "Größe größe Grösse", "Bücher Buches Büchern"},
		[]string{"Bibliothek Bibel", "Häuser Hausierer"},
	},
	"el": {
		[]string{
			"βιβλιοθήκη βιβλιοθήκης βιβλιοθήκες βιβλιοθηκών ΒΙΒΛΙΟΘΗΚΗ", "λόγος ΛΌΓΟΣ λόγου λόγοι λόγους λογος",
			"πρόγραμμα προγράμματος προγράμματα προγραμμάτων", "γνωρίζω γνωρίζει γνώρισε γνώρισαν", "κυβέρνηση κυβερνήσεις",
			"δημόσιος δημόσια δημόσιο δημόσιων",
		},
		[]string{"βιβλιοθήκη βιβλίο", "πόλη πόλεμος"},
	},
	"en": {
		[]string{"index indexes indexing", "naïve naive", "library libraries"}, []string{"sing single", "paper papyrus"},
	},
	"es": {
		[]string{"canción canciones", "información informaciones", "estudiamos estudiáis estudiábamos", "niño niña niños"},
		[]string{"canción cansado"},
	},
	"fi": {[]string{"kirja kirjan kirjat kirjassa", "yhtiö yhtiön yhtiöt"}, []string{"kirja kissa"}},
	"fr": {
		[]string{
			"étude études", "étudier étudié étudiée étudiées étudiait", "général générale générales",
			"bibliothèque bibliothèques",
		},
		[]string{"étude étuve"},
	},
	"ga": {
		[]string{"comhscoláire chomhscoláire comhscoláirí gcomhscoláirí", "meánscolaíocht mheánscolaíochta"},
		[]string{"leabhar leaba"},
	},
	"hu": {
		[]string{"könyv könyvek könyvet könyvben", "kutatás kutatások kutatást", "alma almát almával", "víz vízzel vízben"},
		[]string{"könyv könny"},
	},
	"it": {
		[]string{"università università", "studio studi", "ricerca ricerche", "pubblicità pubblicita"},
		[]string{"ricerca ricco"},
	},
	"nl": {
		[]string{"bibliotheek bibliotheken", "onderzoek onderzoeken", "geïnteresseerd geinteresseerd"}, []string{"boek bok"},
	},
	"no": {[]string{"undersøkelse undersøkelser undersøkelsen", "forskning forskningen"}, []string{"bok bakke"}},
	"pt": {
		[]string{"informação informações", "estudávamos estudaram estudar", "pública públicas"}, []string{"avô avental"},
	},
	"ro": {
		[]string{"universități universităţi universitate universitatea", "informații informaţie informațiile"},
		[]string{"carte cal"},
	},
	"ru": {
		[]string{
			"библиотека библиотеки библиотеке библиотекой", "актёр актер актёра", "узнаём узнаем", "музей музею",
			"исследование исследования исследованиям",
		},
		[]string{"библиотека библия", "мир море"},
	},
	"sv": {
		[]string{"bibliotek biblioteken bibliotekens", "undersökning undersökningar undersökningen"}, []string{"björn barn"},
	},
	"ta": {[]string{"மொழி மொழிகள் மொழியின் மொழியில்", "புத்தகம் புத்தகங்கள் புத்தகத்தில்"}, []string{"மொழி முனை"}},
	"tr": {
		[]string{
			"kitap kitaplar kitapları", "ışık IŞIK ışıklar", "sınır sınırları SINIRLARI", "İstanbul İSTANBUL istanbul",
			"üniversiteler ÜNİVERSİTELER üniversiteleri",
		},
		[]string{"kitap katip"},
	},
	"vi": {[]string{"thư THƯ"}, []string{"ma má mà mả mã mạ", "đa da"}},
}

func TestWordsOfOneStemBelongTogetherInEveryLanguage(t *testing.T) {
	t.Parallel()
	if got := len(conflations); got != len(language.Codes()) {
		t.Fatalf("%d languages are tested, there are %q", got, language.Codes())
	}
	for code, test := range conflations {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			a := New(code)
			if a.Language() != code {
				t.Fatalf("analyser of %q reads %q", code, a.Language())
			}
			for _, group := range test.together {
				for _, form := range []string{group, norm.NFD.String(group)} {
					if got := slices.Compact(terms(a, form)); len(got) != 1 {
						t.Errorf("%s: terms of %q are %q, want one", code, form, got)
					}
				}
			}
			for _, group := range test.apart {
				words := terms(a, group)
				slices.Sort(words)
				if got := slices.Compact(slices.Clone(words)); len(got) != len(words) {
					t.Errorf("%s: terms of %q are %q, want each its own", code, group, words)
				}
			}
		})
	}
}

func TestAnUnknownLanguageIsReadAsEnglish(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "xx", "EN", "english"} {
		a := New(code)
		if got := terms(a, "the indexes"); a.Language() != language.Default || !slices.Equal(got, []string{"index"}) {
			t.Errorf("language %q is read as %q: %q", code, a.Language(), got)
		}
	}
}

func TestEveryLanguageHasStopWords(t *testing.T) {
	t.Parallel()
	questions := map[string]string{
		"ar": "ما هو", "da": "hvad er det", "de": "was ist das für eine", "el": "τι είναι το",
		"en": "what is the", "es": "¿qué es la",
		"fi": "mikä se on",
		"fr": "qu'est-ce que c'est", "ga": "cad é an", "hu": "mi az", "it": "che cos'è l'", "nl": "wat is het",
		"no": "hva er det",
		"pt": "o que é isso", "ro": "ce este", "ru": "что это такое", "sv": "vad är det", "ta": "என்ன", "tr": "bu nedir",
		"vi": "là gì",
	}
	for _, code := range language.Codes() {
		if got := terms(New(code), questions[code]+" 42"); questions[code] == "" || !slices.Equal(got, []string{"42"}) {
			t.Errorf("%s: terms of %q are %q", code, questions[code], got)
		}
	}
}

// The script decides the language of a word if it can, so that a query and a document need not agree on theirs.
func TestScriptDecidesTheLanguageOfAWord(t *testing.T) {
	t.Parallel()
	const text = "Библиотеки и indexing the books والجامعات மொழிகள் λόγους शब्दों"
	want := slices.Collect(New("en").Tokens(text))
	for _, code := range []string{"ru", "ar", "ta"} {
		if got := slices.Collect(New(code).Tokens(text)); !slices.Equal(got, want) {
			t.Errorf("%s reads %v, English %v", code, got, want)
		}
	}
	if got := terms(New("ru"), text); !slices.Equal(got[:3], []string{"библиотек", "index", "book"}) {
		t.Errorf("terms %q", got)
	}
}

func TestStopWordsAreFoundWithAndWithoutTheirAccents(t *testing.T) {
	t.Parallel()
	for code, words := range map[string]string{
		"fr": "où ou à a été", "de": "für fur", "tr": "için icin İÇİN", "ru": "её ее",
	} {
		for token := range New(code).Tokens(words) {
			if stop := token.Term != "ete"; token.Stop != stop {
				t.Errorf("%s: %+v", code, token)
			}
		}
	}
}

// textsByLanguage are texts with the code of their language, "" for none that is known.
var textsByLanguage = []struct{ want, text string }{
	{"ar", "تعتبر المكتبات من أهم المؤسسات التي تحفظ المعرفة وتتيحها للناس"},
	{
		"da",
		"Bibliotekerne er åbne for alle, og man kan låne bøger, som ikke findes andre steder. Det blev besluttet af " +
			"kommunen efter valget.",
	},
	{"de", "Die Bibliotheken sind für alle geöffnet, und man kann Bücher ausleihen, die es sonst nicht gibt."},
	{"el", "Οι βιβλιοθήκες είναι ανοιχτές για όλους"},
	{"el", "ΒΙΒΛΙΟΘΗΚΗ"},
	{"en", "We show that the libraries are open to all, and that people can borrow books which are not found elsewhere."},
	{
		"es",
		"Las bibliotecas están abiertas para todos y se pueden pedir prestados los libros que no hay en otros lugares.",
	},
	{
		"fi",
		"Kirjastot ovat avoinna kaikille, ja niistä voi lainata kirjoja, joita ei ole muualla. Se on tärkeä, koska tieto " +
			"kuuluu kaikille.",
	},
	{"fr", "Les bibliothèques sont ouvertes à tous et on peut y emprunter des livres qui ne se trouvent pas ailleurs."},
	{
		"ga",
		"Tá na leabharlanna ar oscailt do gach duine agus is féidir leabhair a fháil ar iasacht nach bhfuil in aon áit " +
			"eile. Cad é an chéad rud eile a bhí ann?",
	},
	{
		"hu",
		"A könyvtárak mindenki számára nyitva vannak, és olyan könyveket is lehet kölcsönözni, amelyek máshol nem " +
			"találhatók.",
	},
	{
		"it",
		"Le biblioteche sono aperte a tutti e si possono prendere in prestito i libri che non si trovano in altri luoghi " +
			"della città.",
	},
	{
		"nl",
		"De bibliotheken zijn open voor iedereen en men kan er boeken lenen die niet op andere plaatsen te vinden zijn.",
	},
	{
		"no",
		"Bibliotekene er åpne for alle, og man kan låne bøker som ikke finnes andre steder. Det ble bestemt av kommunen " +
			"etter valget, og nå er det slik.",
	},
	{"pt", "As bibliotecas estão abertas para todos e não é preciso comprar os livros que são emprestados pela cidade."},
	{"ro", "Bibliotecile sunt deschise pentru toți și se pot împrumuta cărți care nu se găsesc în alte locuri."},
	{"ru", "Библиотеки открыты для всех, и в них можно взять книги, которых нет в других местах."},
	{"ru", "библиотека"},
	{"sv", "Biblioteken är öppna för alla och man kan låna böcker som inte finns på andra ställen."},
	{"ta", "நூலகங்கள் அனைவருக்கும் திறந்திருக்கும்"},
	{"tr", "Kütüphaneler herkese açıktır ve başka yerlerde bulunmayan kitaplar için de çok uygundur."},
	{"vi", "Các thư viện mở cửa cho mọi người và có thể mượn sách không có ở nơi khác."},
	{"vi", "thư viện nào lớn nhất"},
	{"fr", "quelle est la meilleure méthode pour les bibliothèques"},
	{"ru", "Метод BERT и его применение в задачах поиска"},

	{"", ""},
	{"", "1234 ?!"},
	{"", "BM25F"},
	{"", "Biblioteki są otwarte dla wszystkich i można w nich wypożyczyć książki, których nie ma w innych miejscach."},
	{"", "Бібліотеки відкриті для всіх, і в них можна взяти книжки, яких немає в інших місцях."},
	{
		"",
		"Библиотеките са отворени за всички и от тях могат да се вземат книги, които ги няма на други места. Това е " +
			"важно за обществото и за хората в града.",
	},
	{"", "کتابخانه\u200cها برای همه باز هستند و می\u200cتوان کتاب\u200cهایی گرفت که در جای دیگر نیست"},
	{"", "図書館は誰でも利用できます。"},
	{"", "The alphabet: α β γ δ ε"},
}

func TestTheLanguageOfATextIsGuessed(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{}
	for _, test := range textsByLanguage {
		if got := Guess(test.text); got != test.want {
			t.Errorf("Guess(%q) = %q, want %q", test.text, got, test.want)
		}
		if test.want != "" {
			codes[test.want] = true
		}
	}
	if got := slices.Sorted(maps.Keys(codes)); !slices.Equal(got, language.Codes()) {
		t.Errorf("guessing is tested for %q, the known languages are %q", got, language.Codes())
	}
	if n := len(latinLanguages()); n > maxLatin {
		t.Errorf("there are %d languages in Latin letters; raise maxLatin", n)
	}
	if got := Guess(strings.Repeat(abstract, 3)); got != "en" {
		t.Errorf("an English abstract is guessed to be %q", got)
	}
}
