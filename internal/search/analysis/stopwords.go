package analysis

// The stop words of a language are those that questions and sentences are made of. They say nothing of what is asked
// about, and dropping them lets whole sentences be searched for. Words are compared in folded form, so a word is left
// out of its list when it is another one without its accents (German schon and schön). What an apostrophe parts from
// a word, the French l' say, is a word here.
var stopLists = map[string]string{
	// The English list is tuned: measure before changing it.
	"en": `a an and are as at be but by for if in into is it no not of on or such that
		the their then there these they this to was will with what which how who does do did has have had from can
		we our its were been i me about between than also where when why would could should may any some`,

	"ar": `في من على إلى الى عن مع هذا هذه ذلك تلك هو هي هم هما هن أنا نحن أنت كان كانت كانوا يكون تكون التي الذي
		الذين اللذين ما ماذا كيف متى أين لماذا هل كم أي أية و أو ثم أن إن أنه أنها إنه إنها لا لم لن ليس ليست قد لقد كل بين حتى
		إذا عند عندما منذ بعد قبل غير كما لكن بل فيه فيها منه منها به بها له لها عليه عليها إليه إليها وهو وهي وفي ومن وعلى`,

	"da": `af alle at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter eller en er et
		for fordi fra før ham han hans har havde have hende hendes her hos hun hvad hvem hvilke hvilken hvilket hvis hvor hvordan
		hvorfor hvornår i ikke ind jeg kan kunne man med meget men mellem mere mig min mod ned noget nogle nu når og også om op os
		over på samt sig sin skal skulle som så til ud under var ved vi vil ville vores være været`,

	"nl": `aan al alle als ben bij binnen dan dat de deze die dit doen door dus een en er geen had hadden hebben heeft hem
		het hier hij hoe hun ik in is ja je kan kon kunnen maar me meer men met mijn moet na naar niet nog nu of om omdat onder
		ons ook op over te tegen tot tussen uit u van veel voor waar waarom wanneer waren was wat we wel welk welke werd werden
		wie wij wil worden wordt zal ze zich zij zijn zo zou zonder zoals`,

	"fi": `ei eivät en että he hän ja jo joka jos jossa jotka jota joita kanssa koska kuin kuinka kuka kun me mihin mikä
		miksi millainen milloin minkä minä missä mitkä mitä miten mukaan mutta myös ne niin niiden niitä nyt näiden nämä näitä ole
		olen olevat oli olisi olivat olla on onko ovat se sekä sen siitä sillä sinä sitten sitä tai te tämä tämän tässä tätä vai
		vaikka voi voidaan voivat`,

	"fr": `a à afin ai ainsi après as au aucun aussi autre autres aux avait avant avec avoir c car ce ceci cela celle celui
		ces cet cette ceux chaque chez comme comment contre d dans de depuis des donc dont du elle elles en encore entre est et
		était étaient être eu eux fait il ils j je l la laquelle le lequel les lesquels leur leurs lors lui m ma mais me même mes moi
		moins mon n ne ni non nos notre nous on ont ou où par parce pas pendant peu peut peuvent plus pour pourquoi qu quand que quel
		quelle quelles quels qui quoi s sa sans se selon sera ses si soit son sont sous sur t ta te tes toi ton tous tout toute
		toutes très tu un une vers vos votre vous y`,

	"de": `aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis da damit dann das dass dein dem den
		denn der deren des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es
		etwas für gegen gibt hat hatte hatten habe haben hier ich ihm ihn ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden
		jeder jedes kann können könnte man mehr mein mich mit muss nach nicht noch nun nur ob oder ohne sein seine seinem seinen
		seiner seit sehr sich sie sind so sollte sowie über um und uns unser unter vom von vor wann war waren warum was welche welchem
		welchen welcher welches wenn wer werden wie wieso will wir wird wo wurde wurden würde zu zum zur zwischen`,

	"hu": `a az és egy hogy nem is ez ezt ezek azt azok ami amit amely amelyek aki akik de vagy van vannak volt voltak
		lesz lehet meg csak már még mint minden mi mit milyen miért mikor miként hol hogyan ki kik hány mely melyik melyek én te ő mi
		ti ők ha akkor ahol amikor el le fel be be után előtt között alatt szerint által való így úgy úgyhogy sem se nincs itt ott
		ennek annak ezen azon ebben abban erre arra majd pedig illetve valamint mert`,

	"ga": `a ach ag agus aige aici air an ann ár arna as atá b ba bhí cá cad cathain cé céard chuig chun conas d dá dar de den do
		don é ea eile faoi féin fhéidir gach gan go i iad idir in is í le lena leis mar mé mo muid na nach ná ní nó nuair ó ón orthu
		os pé sa san sé seo sí sibh sin sinn siad tá tar thar tú uile um`,

	"it": `a ad agli ai al all alla alle allo anche c che chi ci ciò col come con contro cos cosa cui d da dagli dai dal dall dalla
		dalle dallo degli dei del dell della delle dello di dopo dove dovrebbe due e è ed era erano essere fra gli ha hanno i il in io
		l la le lei li lo loro lui m ma mentre mi mia mio ne negli nei nel nell nella nelle nello noi non nostra nostro o ogni per
		perché però più poi può prima qual quale quali quando quanto quella quelle quelli quello questa queste questi questo qui s se
		senza si sia siamo sono sta stato su sua sue sugli sui sul sull sulla sulle sullo suo suoi t ti tra tu tutti tutto un una uno
		v vi voi`,

	"no": `alle at av begge ble bli blir da de deg dem den denne der deres det dette din disse du eller en enn er et etter
		for fordi fra før ha hadde han hans har hennes her hos hun hva hvem hver hvilke hvilken hvilket hvis hvor hvordan hvorfor i
		ikke inn innen jeg kan kunne man med meg mellom men mer min mot mye må nå når og også om opp oss over på samt seg ser sin
		skal skulle som så til under ut var ved vi vil ville vår være vært`,

	"pt": `a à ao aos apenas as às até com como contra cuja cujo da das de dela dele deles depois desde do dos duas e é ela
		elas ele eles em entre era eram essa essas esse esses esta está estão estas este estes eu foi foram fosse há isso isto já lhe
		mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos por
		porque porquê pode podem qual quais quando quanto que quê quem são se seja sem ser será seu seus sobre sua suas também te tem
		têm ter um uma você vocês`,

	"ro": `a acest aceasta această aceste acestea acestei acestor acestui al ale am anume ar are aș ași asupra atât au avea
		ca că când care cărei căror cărui câți câte ce cel cele cea cei cine către cu cum da dacă dar de deci decât despre din dintre
		după e ea ei el ele era erau este eu fi fie fiind fost i iar îl îi în înainte între își însă l la le lor lui mai mult ne nici
		nu o ori pe pentru prin sa să sale săi sau se și sub sunt s-a te toate tot tu un unde unei unele unor unui va vă vor`,

	"ru": `а без более бы был была были было быть в вам вас весь во вот все всего всё всех вы где да даже для до его ее её если
		есть еще ещё же за зачем и из или им их к как каким какие какими каких какого каков какова каково каковы какой какая какое
		когда который которая которое которые которого которой которых кто куда ли либо между меня мне мы на над надо нам нас не него
		нее неё нет ни них но ну о об однако он она они оно от очень по под почему при про с свои своих себя со сколько так также
		такой такая такое такие там те тем то того тоже только том тот ту ты у уже чего чем через что чтобы чьи эта эти этих это этого этой этом
		этот эту я`,

	"es": `a al algo algunas algunos ante antes aquel aquella así aún aunque cada como cómo con contra cual cuál cuales cuáles
		cuando cuándo cuanto cuánto cuántos de del desde donde dónde dos durante e el él ella ellas ellos en entre era eran es esa esas
		ese eso esos esta está están estas este esto estos fue fueron ha había han hasta hay la las le les lo los más me mi mí mientras
		muy ni no nos nosotros o otra otras otro otros para pero poco por porque pues que qué quien quién quienes quiénes se sea según
		ser si sí sido sin sobre son su sus también tanto te tiene tienen todo todos tras tu un una unas uno unos usted y ya yo`,

	"sv": `alla att av bara blev bli blir de dem den denna deras dess dessa det detta dig din du där då efter ej eller en er ett
		finns från för före genom ha hade han hans har hennes här hon hos hur hänne i icke in inom inte jag kan kunde man med mellan
		men mer mig min mot mycket ni nu när någon något några och också om oss på samt sig sin sina ska skall skulle som så till
		under upp ut utan vad var varför vara varit vem vet vi vid vilka vilken vilket vill år är över`,

	"ta": `ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த இவர் என முதல் என்ன இருந்து சில என்
		போன்ற வேண்டும் வந்து இதன் அது அவன் தான் பலரும் என்னும் மேலும் பின்னர் கொண்ட இருக்கும் தனது உள்ளது போது என்றும் அதன் தன் பிறகு
		அவர்கள் வரை அவள் நீ ஆகிய இருந்தது உள்ளன வந்த இருந்த மிகவும் இங்கு மீது ஓர் இவை இந்தக் பற்றி வரும் வேறு இரு இதில் போல் இப்போது
		அவரது மட்டும் இந்தப் எனும் மேல் பின் சேர்ந்த ஆகியோர் எனக்கு இன்னும் அந்தப் அன்று ஒரே மிக அங்கு பல்வேறு எது ஏன் எப்படி எங்கே
		எப்போது யார் எந்த எவ்வாறு`,

	"tr": `acaba ama ancak artık aslında az bazı belki ben bile bir biri birkaç biz bu buna bunda bundan bunu bunun çok çünkü da
		daha dahi de defa değil diğer diye en fakat gibi göre hangi hem henüz hep hepsi her hiç için ile ise kadar kendi ki kim kimin
		mı mi mu mü nasıl ne neden nedir nerede nereye niçin niye o olan olarak oldu olduğu olup on ona ondan onlar onu onun ve veya
		ya yani yok zaten nin nın nun nün dan den tan ten ta te in ın un ün ye nde nda ndan nden şey şu şunu siz sen var vardır`,
}
