package quote

// Abbreviations and first words are written in small letters without their last full stop. A list holds what is
// frequent in what people read for research; a rare abbreviation that is missing costs a quote its second half.

// titles are abbreviations only when they begin with a capital: "Gen." is a general, "gen." ends a sentence.
var titles = wordSet(titleNever)

// scholarly are the abbreviations of learned writing in all languages with Latin letters.
const (
	scholarlyNever    = `e.g eg i.e ie cf viz ibid ed eds resp incl esp vs v`
	scholarlyNumbered = `no nos nr fig figs eq eqs eqn sec sect ch chap vol vols p pp art arts ref refs tab ex def thm prop lem
		cor ver op par para app ser pt bd pl n nn`
	scholarlyEither = `al etc ca approx inc ltd co corp jr sr bros dept univ est cit loc et seq hrsg trans repr rev b.c a.d
		b.c.e c.e ph.d m.d b.a m.a u.s u.k u.n e.u a.m p.m`
)

const titleNever = `mr mrs ms messrs dr drs prof st ste mt ft gen col lt maj sgt cpl cpt capt cmdr adm rev hon sen rep gov
	pres msgr supt ph`

const englishMonths = `jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun`

const englishOpeners = `a an the this that these those it its he his she her they their we our i my you your in on at for from
	as by to with of but and or nor so yet if when while where after before since because although though unless until
	however therefore thus hence moreover furthermore meanwhile finally nevertheless instead indeed there here then
	what who why how which not no some many most all both each other another such one two several few first second
	third during despite according among between under over through without within unlike like also even only`

// languageRules holds the rules by language.
var languageRules = map[string]*rules{
	"en": {
		never:    wordSet(scholarlyNever, titleNever),
		numbered: wordSet(scholarlyNumbered, englishMonths),
		either:   wordSet(scholarlyEither, `mass calif pa va ave blvd rd min max avg temp`),
		openers:  wordSet(englishOpeners),
	},
	"de": {
		never: wordSet(scholarlyNever, titleNever, `hr fr frl z.b z b d.h d u.a u bzw vgl sog bspw ggf evtl inkl exkl insb insbes
			einschl allg dipl ing geb gest lat engl franz griech dt m.e i.d.r s.o s.u`),
		numbered: wordSet(scholarlyNumbered, `s abs abb kap nr jg jh h anm bd bde str tel jan feb febr apr jun jul aug sep sept
			okt nov dez`),
		either: wordSet(scholarlyEither, `usw usf etc u.s.w n.chr v.chr chr mio mrd tsd`),
		openers: wordSet(`der die das ein eine einer eines einem einen dieser diese dieses er sie es wir ich ihr sein seine in im
			an am auf aus bei mit nach von vom vor zu zum zur für durch über unter um und aber oder doch denn wenn als ob weil
			da dann dort hier so auch nur noch nicht was wer wie wo warum obwohl während seit bis jedoch daher deshalb
			dennoch außerdem zudem ferner allerdings heute damit dabei dazu`),
		ordinals: true,
	},
	"fr": {
		never:    wordSet(scholarlyNever, `dr pr prof mgr me m mm mme mlle st ste p.ex ex env c.-à-d av j.-c apr`),
		numbered: wordSet(scholarlyNumbered, `chap art vol t num janv févr avr juil sept oct nov déc`),
		either:   wordSet(scholarlyEither, `cie s.a hab c.q.f.d`),
		openers: wordSet(`le la les l un une des du de ce cet cette ces il elle ils elles on nous vous je j leur son sa ses dans
			en au aux à sur sous par pour avec sans chez mais ou et donc or ni car si quand lorsque comme après avant
			depuis pendant selon malgré ainsi alors aussi cependant toutefois enfin puis où qui que quoi comment pourquoi`),
	},
	"es": {
		never:    wordSet(scholarlyNever, `sr sra srta sres dr dra d dña prof lic ing p.ej ej ee uu ud uds st sto sta`),
		numbered: wordSet(scholarlyNumbered, `núm pág págs art cap t vol`),
		either:   wordSet(scholarlyEither, `s.a c.a a.c d.c aprox`),
		openers: wordSet(`el la los las un una unos unas este esta estos estas ese esa eso él ella ellos ellas se su sus lo en a al
			de del por para con sin sobre entre desde hasta según y o pero si cuando como aunque mientras después antes
			durante también además sin embargo no hay así qué quién dónde cómo`),
	},
	"it": {
		never:    wordSet(scholarlyNever, `sig sigg sig.ra dott dott.ssa prof prof.ssa ing avv on mons p.es es s ss`),
		numbered: wordSet(scholarlyNumbered, `n num pag pagg art cap vol t`),
		either:   wordSet(scholarlyEither, `ecc s.p.a s.r.l a.c d.c`),
		openers: wordSet(`il lo la i gli le l un uno una questo questa questi queste quello egli lui lei loro essi si suo sua suoi in
			nel nella nei a al alla di del della da dal per con su tra fra e o ma se quando come mentre dopo prima durante
			anche inoltre tuttavia infatti non così che chi dove`),
	},
	"pt": {
		never:    wordSet(scholarlyNever, `sr sra srs dr dra d prof eng exmo p.ex ex st sto sta`),
		numbered: wordSet(scholarlyNumbered, `núm pág págs art cap vol t`),
		either:   wordSet(scholarlyEither, `ltda s.a a.c d.c aprox`),
		openers: wordSet(`o a os as um uma uns umas este esta estes estas esse essa isso ele ela eles elas se seu sua seus suas em no
			na nos nas de do da dos das por para com sem sobre entre desde até segundo e ou mas quando como embora
			enquanto depois antes durante também além não há assim que quem onde`),
	},
	"nl": {
		never:    wordSet(scholarlyNever, titleNever, `dhr mevr mw drs ir ing bijv bv d.w.z o.a m.a.w t.a.v i.p.v z.g zgn resp`),
		numbered: wordSet(scholarlyNumbered, `nr blz afb hfst jan feb mrt apr jun jul aug sep okt nov dec`),
		either:   wordSet(scholarlyEither, `enz e.d n.chr v.chr`),
		openers: wordSet(`de het een dit dat deze die hij zij ze wij we ik zijn haar hun in op aan bij met van voor na naar uit over
			onder door tot en of maar want als toen wanneer omdat hoewel terwijl sinds volgens ook niet er hier daar zo
			wat wie waar hoe waarom echter daarom bovendien`),
	},
	"sv": {
		never:    wordSet(scholarlyNever, `t.ex bl.a d.v.s dvs s.k p.g.a m.a.o f.d ev inkl`),
		numbered: wordSet(scholarlyNumbered, `nr s sid kap`),
		either:   wordSet(scholarlyEither, `osv m.m m.fl o.d`),
		openers: wordSet(`den det de en ett denna detta dessa han hon vi jag sin sitt i på av för med till från om under över efter
			före vid men och eller när som att så där här inte även också dock vad vem hur varför`),
	},
	"da": {
		never:    wordSet(scholarlyNever, `f.eks bl.a dvs d.v.s s.k pga ca inkl hr fr`),
		numbered: wordSet(scholarlyNumbered, `nr s kap`),
		either:   wordSet(scholarlyEither, `osv m.m m.fl o.l`),
		openers: wordSet(`den det de en et denne dette disse han hun vi jeg sin sit i på af for med til fra om under over efter før
			ved men og eller når som at så der her ikke også dog hvad hvem hvordan hvorfor`),
		ordinals: true,
	},
	"ru": {
		never:    wordSet(`т т.е т.к т.н т.о см ср напр им проф акад д.р гр г-н г-жа св ул пр`),
		numbered: wordSet(`с стр рис табл гл т тт № п пп ст кн вып изд`),
		either:   wordSet(`г гг в вв н.э т.д т.п др пр руб коп тыс млн млрд т д п э`),
		openers: wordSet(`в во на с со к ко по из за от до о об у и а но или если когда как что это этот эта эти он она они оно мы я
			его её их для при под над между после перед через без также однако поэтому так там здесь тогда не кто где`),
	},
}
