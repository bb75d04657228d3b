package check

// german are the German word lists.
var german = wordLists{
	neutral: `der die das den dem des ein eine einer eines einem einen dies diese dieser dieses diesem diesen jener jene
		jenes dass daß zu so auch da dabei dazu damit davon dafür daran darauf darin daraus hier dort wo was wer
		wie welche welcher welches welchem welchen als ob denn doch also nun jetzt dann noch schon bereits eben sehr etwa
		haben hat hatte hatten habe habt worden geworden selbst sich insoweit ferner zudem außerdem jedoch
		allerdings hierbei hiermit deren dessen z.b d.h usw bzw sowie je es gibt gab beim hin her mal tut`,
	light: `bekannt genannt gefunden gelegen befindet liegt sogenannte sogenannten fall beispiel form art weise leute
		menschen person personen`,
	negations: `nicht kein keine keiner keines keinem keinen nie niemals weder niemand niemandem nichts nirgends`,
	lacks:     `ohne kaum verweigert verweigern versagt misslingt misslang unfähig anstatt`,
	all: `alle aller allen alles allem jede jeder jedes jedem jeden jeweils immer stets sämtliche sämtlichen ganze ganzen
		gesamte gesamten beide beiden beider jedermann vollständig völlig jegliche ausnahmslos`,
	most: `meist meiste meisten meistens mehrheit überwiegend größtenteils regel normalerweise üblicherweise
		hauptsächlich
		vorwiegend gewöhnlich`,
	many:     `viele vielen vieler vieles häufig oft zahlreiche zahlreichen mehrere mehreren mehrerer`,
	some:     `einige einigen einiger manche manchen mancher manchmal teilweise teils bestimmte gelegentlich zum-teil`,
	few:      `wenige wenigen weniger selten`,
	none:     `kein keine keiner keines keinem keinen niemand niemandem nie niemals nichts weder`,
	only:     `nur ausschließlich lediglich allein einzig einzige einzigen`,
	possible: `kann können könnte könnten konnte konnten darf dürfen`,
	advised:  `sollte sollten soll sollen`,
	required: `muss muß müssen musste mussten`,
	future:   `wird-sein`,
	doubts: `vielleicht möglicherweise wahrscheinlich vermutlich wohl angeblich scheint scheinen scheinbar dürfte dürften
		eventuell mutmaßlich schätzungsweise vermuten vermutet glauben geglaubt behauptet behaupten
		voraussichtlich womöglich anscheinend`,
	attributes: `sagte sagt laut zufolge erklärte erklärt berichtet berichtete berichten teilte mitgeteilt gemäß
		nach-angaben
		betonte schrieb schreibt meldet meldete kenntnis`,
	conditions: `ohne bis empfiehlt empfahl empfohlen fordert forderte gefordert will wollte verspricht versprach
		theorie idee vermutung gerücht annahme möglichkeit hoffnung wenn falls sofern soweit außer
		sobald solange ehemalige ehemaligen früher geplant plant erwartet
		unklar geschätzt`,
	because: `weil da wegen aufgrund denn dank infolge`,
	therefore: `deshalb daher darum deswegen folglich somit führt führte führten verursacht verursachte verursachen
		bewirkt
		bewirkte dadurch sodass insofern`,
	associates: `verbunden zusammenhang korreliert verknüpft assoziiert einhergeht`,
	prepositions: `in im an am auf aus bei beim mit von vom zu zum zur für durch über um zwischen während
		seit ab als entlang neben hinter ins innerhalb außerhalb je pro`,
	be:       `ist sind war waren sein gewesen wird werden wurde wurden worden sei bin bist`,
	agent:    `von vom durch`,
	pronouns: `er sie es ihn ihm ihr ihre ihren ihrer seine seinen seiner seinem sein dies diese dieser dieses wir ich`,
	joins:    `und aber während sondern jedoch doch sowie`,
	or:       `oder`,
	than:     `als`,
	antonyms: germanAntonyms,
	exclusive: `nord süd ost west|norden süden osten westen|nördlich südlich östlich westlich|nördliche südliche östliche
		westliche|frühling sommer herbst winter|montag dienstag mittwoch donnerstag freitag samstag sonntag|morgen mittag
		nachmittag abend nacht|vater mutter bruder schwester sohn tochter|rot grün blau gelb schwarz weiß|sekunde minute
		stunde tag woche monat jahr jahrzehnt jahrhundert|meter kilometer zentimeter millimeter|million milliarde tausend
		hundert`,
	synonyms: `
		beginnen anfangen starten|beginnt begann begonnen|zeigen zeigt gezeigt|groß große|nutzen verwenden benutzen|
		etwa ungefähr rund circa|kaufen erwerben|arzt mediziner|auto wagen|gewährleistet garantiert|erkannt erfasst|
		leicht etwas|dass daß|muss muß|notwendig nötig erforderlich|enthält enthalten|dauer dauern dauert gedauert|
		unterrichten informieren|erhalten bekommen erhielt bekam|zeigt zeigen|schnell rasch|häufig oft|groß riesig|
		land staat|firma unternehmen|forscher wissenschaftler|untersuchung studie|ergebnis resultat|methode verfahren|
		anzahl zahl menge|teil anteil|weltweit global|beenden abschließen|helfen unterstützen|bauen errichten|gründen
		gegründet gründete|sterben starb gestorben|töten tötete getötet|gewinnen gewann gewonnen|verlieren verlor
		verloren|schreiben schrieb geschrieben|finden fand gefunden|gehen ging gegangen|kommen kam gekommen|nehmen
		nahm genommen|geben gab gegeben|sehen sah gesehen|steigen stieg gestiegen|sinken sank gesunken|wachsen wuchs
		gewachsen|ziehen zog gezogen|tragen trug getragen|bringen brachte gebracht|denken dachte gedacht|wissen wusste
		gewusst|liegen lag gelegen|stehen stand gestanden|halten hielt gehalten|lassen ließ|laufen lief gelaufen|
		fahren fuhr gefahren|fallen fiel gefallen|schließen schloss geschlossen|beginnen begann|bleiben blieb
		geblieben|heißen hieß|rufen rief|werfen warf geworfen|brechen brach gebrochen|sprechen sprach gesprochen|
		treffen traf getroffen|werden wurde geworden|bieten bot geboten|wohnen leben|einwohner bewohner|ermöglichen
		erlauben|verhindern vermeiden|löschen entfernen|kaputt defekt|notwendig benötigt|zusätzlich weitere|ungefähr
		etwa`,
	numbers: `null=0 eins=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12
		dreizehn=13 vierzehn=14 fünfzehn=15 sechzehn=16 siebzehn=17 achtzehn=18 neunzehn=19 zwanzig=20 dreißig=30
		vierzig=40 fünfzig=50 sechzig=60 siebzig=70 achtzig=80 neunzig=90 dutzend=12 einmal=1 zweimal=2 dreimal=3`,
	scales: `hundert=100 tausend=1e3 million=1e6 millionen=1e6 mio=1e6 milliarde=1e9 milliarden=1e9 mrd=1e9 billion=1e12
		billionen=1e12`,
	fractions: `hälfte=0.5 halb=0.5 halbe=0.5 drittel=0.3333333333 dritteln=0.3333333333 viertel=0.25 vierteln=0.25
		fünftel=0.2 fünfteln=0.2 zehntel=0.1 hundertstel=0.01 tausendstel=1e-3 millionstel=1e-6 milliardstel=1e-9`,
	ordinals: `erste=1 ersten=1 erster=1 erstes=1 erstem=1 zweite=2 zweiten=2 zweiter=2 zweites=2 dritte=3 dritten=3
		dritter=3 drittes=3 siebte=7 siebten=7 letzte=-1 letzten=-1 letzter=-1 letztes=-1`,
	bounds: `etwa ~|ungefähr ~|rund ~|circa ~|ca ~|zirka ~|annähernd ~|schätzungsweise ~|an die ~|
		mehr als >|über >|größer als >|länger als >|höher als >|älter als >|
		mindestens >=|wenigstens >=|zumindest >=|nicht weniger als >=|
		weniger als <|unter <|kürzer als <|kleiner als <|niedriger als <|jünger als <|
		höchstens <=|maximal <=|bis zu <=|nicht mehr als <=|nicht länger als <=|
		fast -|beinahe -|nahezu -|knapp -|
		genau =|exakt =|nur =|
		… oder mehr >=|… oder weniger <=`,
	participles: `gefunden gegeben genommen gesehen gemacht gehalten gebaut geschrieben geworfen begonnen gebrochen
		gewählt
		getrieben gezogen verloren`,
	proportion: `von`,
	negative:   `un in im ir miss nicht`,
	demonyms: `deutsch deutsche deutschen deutscher deutsches deutschland deutschlands|irisch irische irischen irland|
		englisch englische englischen england|französisch französische französischen frankreich|italienisch italienische
		italien|spanisch spanische spanien|amerikanisch amerikanische amerika usa|russisch russische russland|chinesisch
		chinesische china|österreichisch österreichische österreich|schweizer schweiz`,
	talk: `hallo|guten tag|guten morgen|guten abend|danke|vielen dank|gern geschehen|gerne|klar|natürlich|
		selbstverständlich|
		okay|ok|gute frage|tut mir leid|entschuldigung|tschüss|auf wiedersehen|bitte|ja|nein|kein problem|ich hoffe|
		fertig|kurz gesagt|zusammengefasst|insgesamt`,
	instructions: `bitte versuche versuchen-sie frag frage klicke wähle öffne drücke gib schau sieh siehe beachte lies
		vergleiche fasse übersetze schreibe liste erkläre beschreibe`,
	objects: `den die das dem der ein eine einen mir mich es sie ihn uns alle alles hier unten oben dein deine ihre seite
		abschnitt`,
	remarks: `die quellen sagen nichts|die quellen enthalten keine|die quellen enthalten dazu|die quelle enthält keine|
		keine der quellen|nichts in den quellen|nicht in den quellen|in den quellen nicht|die dokumente enthalten keine`,
	meta: `bitte|hallo|ich kann|ich konnte|ich habe|ich bin|ich werde|ich würde|ich fand|ich suche|ich empfehle|
		ich verstehe|
		ich weiß|
		deine frage|ihre frage|deine quellen|ihre quellen|die quellen sagen nichts|die quellen enthalten keine|
		die quelle enthält keine|keine der quellen|hier ist|hier sind|im folgenden|
		möchtest du|möchten sie|meine antwort|diese antwort|wenn du|wenn sie möchten`,
}

const germanAntonyms = `
	steigen,steigt,stieg,gestiegen,wachsen,wächst,wuchs,zunehmen,erhöhen,erhöht,anstieg/sinken,sinkt,sank,gesunken
	steigen,steigt,stieg,gestiegen,wachsen,wächst,wuchs,zunehmen,erhöhen,erhöht,anstieg/fallen,fällt,fiel,abnehmen
	steigen,steigt,stieg,gestiegen,wachsen,wuchs,erhöhen,erhöht,anstieg/schrumpfen,verringern,senken,rückgang,reduzieren
	hoch,hohe,hohen,hohem,hoher,höher,höchste,höchsten/niedrig,niedrige,niedrigen,niedrigem,niedriger,tief,gering,geringe
	groß,große,großen,größer,größte,größten/klein,kleine,kleinen,kleiner,kleinste
	lang,lange,länger,längste/kurz,kurze,kürzer,kürzeste mehr,meist/weniger,wenigsten
	viele,vielen/wenige,wenigen schnell,schneller/langsam,langsamer stark,stärker/schwach,schwächer
	früh,früher/spät,später alt,alte,alten,älter,älteste/neu,neue,neuen,neuer,jung,junge,jünger
	gut,gute,besser,beste/schlecht,schlechte,schlechter vor,vorher,bevor/nach,nachher,nachdem über/unter
	anfang,beginn,beginnen,beginnt,begann/ende,enden,endet,endete
	annehmen,angenommen,nahm-an,akzeptiert/ablehnen,abgelehnt,verworfen
	erlauben,erlaubt,ermöglichen,ermöglicht,gestattet/verbieten,verboten,untersagt,verhindern,verhindert
	gewinnen,gewann,gewonnen/verlieren,verlor,verloren
	hinzufügen,hinzugefügt/entfernen,entfernt,löschen,gelöscht erstellen,erstellt/löschen,gelöscht,zerstört
	öffnen,geöffnet/schließen,geschlossen mann,männer,männern/frau,frauen städtisch/ländlich
	öffentlich,öffentliche,öffentlicher/privat,private,privaten,geheim mehrheit/minderheit
	maximal,höchstens/minimal,mindestens positiv,positive,positiven/negativ,negative,negativen
	richtig,richtige/falsch,falsche erhöht,erhöhtem,erhöhtes/verringert,niedrig,niedrigem
	gewährleistet/verweigert mit/ohne immer,stets/nie,niemals,selten leicht,einfach/schwer,schwierig,kompliziert
	warm,heiß/kalt,kühl hell/dunkel voll/leer sicher/gefährlich reich/arm
	gesund,gesunde,gesunden/krank,kranke,ungesund leben,lebend,überlebt/tot,gestorben,getötet
	kaufen,gekauft/verkaufen,verkauft einfuhr,import/ausfuhr,export erfolg/misserfolg,scheitern
	zulässig/unzulässig freiwillig/verpflichtend,pflicht intern,innerhalb/extern,außerhalb vorhanden/fehlend
	erste,ersten/letzte,letzten verbessern,verbessert/verschlechtern,verschlechtert
	aktiviert,aktiv/deaktiviert,inaktiv gleich,gleiche/verschieden,unterschiedlich besser/schlechter
	links/rechts oben/unten hinzu/ab zustimmen,zugestimmt/ablehnen,abgelehnt krieg/frieden`
