package check

// english are the English word lists. Words with two meanings stand in the list in which a mistake does less harm: a
// word that is not neutral must have a counterpart in the quote.
var english = wordLists{
	neutral: `a an the this that these those there here which who whom whose what where when how as also too then
		such very quite just even both own its his her their our my your one ones other another each do does did
		doing done has have had having will-be being itself themselves himself herself however moreover furthermore
		 finally firstly specifically namely indeed actually etc e.g i.e eg ie et al mr mrs ms
		dr prof while whereas although though yes therein thereby still already now back out off away`,
	light: `known called named located situated termed considered referred people that's it's`,
	negations: `not no never cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't
		couldn't shouldn't hasn't haven't hadn't mustn't nor nothing nobody nowhere`,
	lacks: `without fail fails failed failing unable lack lacks lacked lacking refuse refuses refused deny denies
		denied barely
		hardly scarcely unlikely absence instead stop stops stopped cease ceases ceased prevent prevents prevented avoid
		avoids avoided reject rejects rejected ban bans banned forbid forbids prohibit prohibits prohibited`,
	all: `all every each both always entire entirely whole everyone everything completely fully invariably exactly`,
	most: `most mostly majority usually typically generally largely primarily mainly commonly predominantly
		normally`,
	many:     `many numerous often frequently much multiple`,
	some:     `some several certain sometimes partly partially somewhat occasionally part`,
	few:      `few rarely seldom little fewer`,
	none:     `none neither no nobody never nothing`,
	only:     `only solely exclusively merely alone sole`,
	possible: `may might can could`,
	advised:  `should ought`,
	required: `must shall`,
	future:   `will would`,
	doubts: `probably possibly perhaps maybe likely potentially presumably apparently seem seems seemed appear appears
		appeared suggest suggests suggested suggesting believed believe believes thought think thinks speculated
		supposed supposedly allegedly alleging alleged allege alleges claimed claim claims propose proposes proposed
		hypothesize reportedly rumored rumoured`,
	attributes: `said says say told tells according stated states announced announces reported reports report noted
		notes added argues argued explains explained wrote writes testified acknowledged acknowledge admits
		admitted acknowledges concluded concludes`,
	conditions: `if unless without except until till recommend recommends recommended urge urges urged demand demands
		demanded request requested want wants wanted intend intends intended promise promised threaten threatened vow
		vowed theory idea belief notion myth rumor rumour allegation possibility assumption
		suggestion fear hope otherwise excluding whether former formerly fake
		so-called attempted estimated estimate estimates expected expects assumed assume unclear uncertain unknown hint
		hints plan plans planned possible potential indicate indicates indicated hypothesis`,
	because: `because due owing`,
	therefore: `cause causes caused causing lead leads led leading results resulting resulted so therefore thus hence
		consequently trigger triggers triggered triggering`,
	associates: `associated association correlated correlation correlate correlates linked link links related
		relationship connected coincided coincides accompany accompanied follows followed`,
	prepositions: `of in at on for with to from into onto upon about between among through throughout during via per
		within toward towards across along around over by as than amid`,
	be:       `is are was were be been being am get gets got become becomes became`,
	agent:    `by`,
	pronouns: `it he she they him her them his its their this these those we i you hers theirs`,
	joins:    `and but while whereas although though plus yet as-well-as`,
	or:       `or`,
	than:     `than`,
	antonyms: englishAntonyms,
	exclusive: `north south east west northeast northwest southeast southwest|northern southern eastern western
		northernmost southernmost easternmost westernmost|spring summer autumn winter|monday tuesday wednesday thursday
		friday saturday sunday|morning afternoon evening night|father mother brother sister son daughter husband wife|
		red green blue yellow black white orange purple brown|gold silver bronze copper|africa asia europe america
		australia antarctica|christian muslim buddhist hindu jewish|mercury venus earth mars jupiter saturn uranus neptune|
		second minute hour day week month year decade century millennium|metre kilometre centimetre millimetre mile|
		bit byte kilobyte megabyte gigabyte terabyte|gram kilogram milligram tonne|hundred thousand million billion
		trillion|single double triple|primary secondary tertiary`,
	synonyms: englishSynonyms,
	numbers: `zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12
		thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40
		fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 dozen=12 twice=2 once=1 thrice=3`,
	scales: `hundred=100 thousand=1e3 million=1e6 millions=1e6 billion=1e9 billions=1e9 trillion=1e12 mn=1e6`,
	fractions: `half=0.5 halves=0.5 third=0.3333333333 thirds=0.3333333333 quarter=0.25 quarters=0.25 fifth=0.2
		fifths=0.2 sixth=0.1666666667 eighth=0.125 eighths=0.125 tenth=0.1 tenths=0.1 hundredth=0.01 hundredths=0.01
		thousandth=1e-3 thousandths=1e-3 millionth=1e-6 millionths=1e-6 billionth=1e-9 billionths=1e-9`,
	ordinals: `first=1 second=2 third=3 fourth=4 fifth=5 sixth=6 seventh=7 eighth=8 ninth=9 tenth=10 eleventh=11
		twelfth=12 thirteenth=13 fourteenth=14 fifteenth=15 sixteenth=16 seventeenth=17 eighteenth=18 nineteenth=19
		twentieth=20 last=-1 final=-1`,
	bounds: `about ~|around ~|approximately ~|roughly ~|some ~|circa ~|ca ~|an estimated ~|estimated ~|more or less ~|
		more than >|over >|above >|greater than >|higher than >|larger than >|bigger than >|older than >|later than >|
		exceeding >|exceeded >|exceeds >|in excess of >|upwards of >|longer than >|
		at least >=|no less than >=|no fewer than >=|a minimum of >=|minimum of >=|not less than >=|no shorter than >=|
		less than <|fewer than <|under <|below <|shorter than <|smaller than <|lower than <|younger than <|earlier than <|
		at most <=|no more than <=|up to <=|a maximum of <=|maximum of <=|not more than <=|no longer than <=|
		no greater than <=|as many as <=|
		almost -|nearly -|just under -|close to -|not quite -|
		exactly =|precisely =|only =|just =|
		… or more >=|… or less <=|… or fewer <=|… at least >=|… at most <=|… or older >=|… or younger <=`,
	participles: `known given taken seen made found held built written thrown begun broken chosen driven drawn eaten
		fallen forgotten frozen grown hidden kept led left lost met paid put read sent set shot shown spoken stolen sung
		told thought torn understood won worn cut hit hurt struck brought bought caught fought taught sold laid born`,
	proportion: `in`,
	negative:   `un in im ir il non dis`,
	generic: `gov sen rep gen col capt lt sgt rev hon jr sr st mt dept treaty accord accords agreement act law company
		corporation inc ltd department ministry university college
		institute party club festival prize award war battle channel embassy republic island islands river lake mount
		city county province state president minister secretary director general professor king queen prince sir doctor
		church school museum center centre park street road bridge airport hotel league cup championship conference
		summit court board bank group association organization organisation committee commission council agency office
		program programme project plan day week year book film series album`,
	demonyms: `us usa u.s american americans america united-states|uk british britain|irish ireland|scottish scotland
		scots|english england|welsh wales|french france|german germans germany|danish denmark danes|dutch netherlands|
		spanish spain|swedish sweden swedes|polish poland poles|turkish turkey turks|finnish finland finns|swiss
		switzerland|greek greece greeks|chinese china|japanese japan|russian russia russians|italian italy italians|
		norwegian norway norwegians|icelandic iceland icelanders|mongolian mongolia mongolians mongol mongols|ethiopian
		ethiopia ethiopians|korean korea koreans|indian india indians|canadian canada canadians|mexican mexico|brazilian
		brazil|portuguese portugal|austrian austria|belgian belgium|hungarian hungary|czech czechia|saudi|egyptian egypt|
		australian australia australians|texan texas texans|european europe europeans|african africa africans|asian asia|
		israeli israel|iranian iran|iraqi iraq|thai thailand|vietnamese vietnam|ukrainian ukraine|romanian romania`,
	talk: `hello|hi|hey|good morning|good afternoon|good evening|thanks|thank you|you're welcome|you are welcome|
		welcome|sure|of course|certainly|okay|ok|great question|good question|happy to help|glad to help|sorry|bye|
		goodbye|no problem|here you go|got it|understood|absolutely|my pleasure|yes|no|please|let me|let us|let's|
		feel free|hope this helps|i hope|done|in short|in summary|to summarize|to sum up|overall|in conclusion`,
	instructions: `please try ask tell click choose select upload open press type enter look see check note-that
		consider remember add remove save share visit contact read feel give let show compare make rewrite translate
		summarize summarise list explain describe`,
	meta: `please|hello|hey|i can|i could|i cannot|i can't|i will|i would|i am|i'm|i have|i've|i found|i did|i do|
		i don't|i searched|
		i looked|i suggest|i recommend|i understand|i apologize|i apologise|i think|i know|i see|i was|i need|
		your question|your sources|your library|your documents|my sources|the sources do not|the source does not|
		the sources don't|the source doesn't|none of the sources|no source|the documents do not|the quotes do not|
		the passages do not|the evidence does not|the provided|here is|here are|below is|below are|the following is|
		would you|do you|does this|as an ai|this answer|my answer|my name is|there is nothing|nothing in|here's|
		it is unclear from|if you|let me know|what else|you can ask|that is a good question|that's a good question`,
	remarks: `sources do not|source does not|sources don't|source doesn't|documents do not|document does not|
		text does not|
		texts do not|passages do not|passage does not|quotes do not|quote does not|evidence does not|none of the sources|
		none of the documents|none of your sources|none of the passages|no source mentions|no document mentions|
		not in the sources|not in your sources`,
	objects: `the a an this these those your my our me it them him her us all both here below above again figure
		section table page to for on in at one two another each`,
}

// englishAntonyms are opposites. Several words of a side are separated by commas.
const englishAntonyms = `
	increase,rise,rose,risen,grow,grew,growth,gain,climb,expand/decrease,decline,fall,fell,fallen,drop,shrink,reduce
	increase,rise,rose,risen,grow,grew,growth,gain,climb,expand/reduction,lower,diminish
	high,higher,highest/low,lower,lowest present/absent,missing
	large,larger,largest,big,bigger,biggest,huge,great/small,smaller,smallest,tiny
	long,longer,longest/short,shorter,shortest more,most/less,least,fewer many/few much/little
	fast,faster,fastest,quick,quickly,rapid,rapidly/slow,slower,slowest,slowly
	strong,stronger,strongest/weak,weaker,weakest early,earlier,earliest/late,later,latest
	old,older,oldest,ancient/new,newer,newest,young,younger,youngest,modern good,better,best/bad,worse,worst,poor
	before,preceding,prior/after,following,afterwards,since above/below over/under inside/outside
	begin,began,begun,start,started,beginning/end,ended,stop,stopped,finish,ending,ends
	accept,accepted,accepts/reject,rejected,rejects,refuse
	allow,permit,enable/forbid,forbidden,prohibit,ban,banned,prevent,disable
	win,won,wins,victory/lose,lost,loses,defeat gain,gained/lose,lost
	keep,kept,keeps,maintain,maintained,retain/lose,lost,abandon,abandoned,withdraw,withdrew,delete,deleted,remove
	add,added,adds,append,appends/remove,removed,removes,subtract,deduct,delete
	create,created,build,built/destroy,destroyed,delete,deleted open,opened,opens/close,closed,closes,shut
	arrive,arrived/depart,departed,leave,left enter,entered/leave,left,exit
	support,supports,supported/oppose,opposes,opposed agree,agreed/disagree,disagreed
	confirm,confirmed,confirms/refute,refuted,deny,contradict,contradicts
	succeed,succeeded,success/fail,failed,failure positive/negative male,men,man,boys/female,women,woman,girls
	urban/rural public/private major/minor majority/minority maximum/minimum max/min upper/lower
	hot,warm,warmer,warming/cold,cool,colder,cooling wet,damp/dry,arid light,bright/dark,heavy thick/thin
	wide,broad/narrow deep/shallow simple,easy,easily/complex,complicated,difficult,hard rich/poor full/empty
	safe/dangerous healthy/sick,ill,unhealthy alive,survive,survived/dead,died,killed,kill
	buy,bought,purchase/sell,sold import,imports,imported/export,exports,exported attack,attacked/defend,defended
	advance/retreat victory/defeat war/peace peaceful,peacefully/violent,violently,bloody
	temporary,temporarily/permanent,permanently volatile/nonvolatile internal,internally/external,externally
	overestimate,overestimated/underestimate,underestimated
	up-regulation,upregulation/down-regulation,downregulation up/down upward/downward overexpression/underexpression
	improve,improved,improves/worsen,worsened,deteriorate,deteriorated first/last,final ahead,advance/behind
	double,doubles,doubled/halve,halves,halved honor,honored,honour,honoured/ignore,ignored,violate
	bind,binds/detach,detaches,release connect/disconnect attract/repel absorb/emit encrypt/decrypt
	mild,mildly,moderate,moderately/severe,severely optional/mandatory,required,compulsory
	voluntary/mandatory,compulsory sparse,sparsely/dense,densely
	rare,rarely,seldom/frequent,frequently,common,commonly,often always/never,rarely,seldom,sometimes known/unknown
	same,identical/different,distinct preliminary,provisional,initial/final,definitive prokaryotic/eukaryotic
	dicot/monocot synchronous/asynchronous online/offline
	deficiency,deficient,shortage,lack/excess,surplus,abundance possess,possessing,have,contain/lack,lacking
	exceed,exceeded,exceeds/below,under limited/unlimited diversify/specialize rescue,rescued,saved/killed,kill
	with/without include,includes,included/exclude,excludes,excluded tropical/polar
	acquit,acquitted/convict,convicted innocent/guilty legal/illegal active/inactive,passive,dormant true/false
	correct,correctly,right/wrong,incorrect,incorrectly communist/capitalist democratic/authoritarian
	diminishes,diminish,inhibit/enhance,enhances,promote,promotes,stimulate,stimulates,activate,activates
	inhibits,suppress,suppresses/enhance,enhances,promote,promotes,stimulate,stimulates,activate,activates
	abolishes,abolish/restore,restores,increase,increases employer/employee teacher/student lender/borrower
	ascending/descending horizontal/vertical left/right front/rear,back top/bottom day/night
	gradual,gradually/sudden,suddenly appoint,appointed/dismiss,dismissed elect,elected/oust,ousted
	unite,united/divide,divided join,joined/leave,left profit/loss,deficit surplus/deficit demand/supply
	cheap,cheaper/expensive cause/prevent continue,continues/stop,end,cease
	gave,give,grant,granted/take,took,deny,revoke,revoked single/multiple finite/infinite valid/invalid
	normal/abnormal approve,approved/reject,rejected,disapprove visible/invisible domestic/foreign
	local/remote,global soluble/insoluble`

// englishSynonyms are groups of words that may replace each other in any sentence.
const englishSynonyms = `
	send sent|hold held|lose lost|lead led|write wrote written|win won|take took taken|give gave given|make made|go
	went gone|come came|rise rose risen|fall fell fallen|grow grew grown|know knew known|see saw seen|bring
	brought|think thought|fight fought|teach taught|catch caught|sell sold|tell told|leave left|meet met|pay paid|
	shoot shot|steal stole stolen|break broke broken|speak spoke spoken|choose chose|drive drove driven|eat ate
	eaten|fly flew flown|draw drew drawn|throw threw thrown|begin began|run ran|sing sang sung|swim swam|drink
	drank|ring rang|sink sank sunk|spring sprang|become became|overthrow overthrew overthrown depose deposed|mean
	meant|feel felt|build built|spend spent|lend lent|bind bound|find found|begin start commence began begun|big
	large|build construct|buy purchase|end finish|help aid assist|show demonstrate reveal showed shown|use utilize
	utilise employ|about approximately roughly around|keep maintain retain kept|require need|get obtain receive|
	fast quick rapid|quickly rapidly fast|after following|before preceding|entire whole|nearly almost|main primary
	principal chief|located situated|create establish found founded established created|happen occur happened
	occurred|begin start|allow permit enable|choose select chose chosen|car automobile|doctor physician|movie film|
	kill killed|die died|allow permit|important significant|largest biggest|biggest largest|smallest tiniest|people
	persons|rise increase grow|fall decrease decline drop|often frequently|mostly mainly largely primarily|though
	although|because since|huge enormous vast|brief short|difficult hard|area region|speed velocity|child children|
	woman women|man men|foot feet|person people|analyse analyze|colour color|centre center|labelled labeled
	labeling labelling|tumour tumor|metre meter|behaviour behavior|organisation organization|programme program|
	defence defense|annual annually yearly|country nation|attempt try|halt stop|cease stop|forbid prohibit|occur
	happen|job jobs|delete remove|automatic automatically|several multiple|cover covers|leader leaders|fire fired|
	permitted allowed|obtain obtained|sickness illness disease|additional further|near close|receive get gets got
	obtain|attach connect fasten|enlarge expand extend|permit license|rescue save|injure wound hurt|happen occur|
	examine inspect|explain clarify|reply answer respond|ask request|gather collect|huge massive|tiny minuscule|aim
	goal objective|error mistake|salary wage|journey trip|home house|kid child|college university|firm company|cop
	police|physician doctor|pupil student|author writer|illness disease|medicine drug medication|blaze fire|quake
	earthquake|vehicle vehicles|plane aircraft airplane|ship vessel|road street|soldier troop|fighter militant|
	parliament legislature|ballot vote|poll survey|leader chief head|king monarch|border frontier|village hamlet|
	ocean sea|forest woodland|shore coast|peak summit|storm tempest|rainfall rain|power electricity|petrol gasoline
	fuel|garbage waste rubbish|proof evidence|method technique|outcome result|amount quantity|part portion|piece
	fragment|kind type sort|characteristic feature|ability capability|chance probability likelihood|danger hazard
	peril|benefit advantage|drawback disadvantage|discover detect|observe notice|calculate compute|contain comprise
	include|enable allow|hinder impede|protect shield safeguard|harm damage|destroy ruin devastate|repair fix mend|
	replace substitute|exchange swap|move shift|carry transport|store keep|throw hurl|pull drag|push shove|raise
	lift|lower reduce|speed accelerate|close shut|continue proceed|finish complete conclude|choose pick opt|decide
	determine|believe think|remember recall|teach instruct|study research investigate|scientist researcher|expert
	specialist|worker employee|boss manager|customer client|buyer purchaser|seller vendor|price cost|money cash|
	hunger famine|drink beverage|dwell live reside|inhabitant resident|marry wed|funeral burial|prison jail|crime
	offence|thief robber|murder assassinate|gun firearm|bomb explosive|attack assault|battle fight|treaty agreement
	accord|law legislation|rule govern reign|punish penalize|free liberate release|arrest detain|flee escape|search
	seek|hide conceal|display exhibit|appear emerge|vanish disappear|remain stay|depart leave|wait await|anger
	rage|worry concern|calm quiet|loud noisy|dirty filthy|wet moist damp|quick swift|correct accurate exact
	precise|wrong incorrect false|real genuine authentic|main major|ordinary normal usual|strange odd unusual|
	famous renowned|wide broad|hard difficult tough|easy simple|new recent|old ancient|modern contemporary|annual
	yearly|worldwide global|rural countryside|maritime marine|nuclear atomic|wealthy rich|clever intelligent smart|
	brave courageous|angry furious|happy glad|sad unhappy|afraid scared frightened|tired exhausted|sick ill|dead
	deceased|alive living`
