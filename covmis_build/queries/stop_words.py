"""Words that say nothing about a claim, by language; folded as the tokeniser folds them."""

from __future__ import annotations

from covmis_build.text.tokens import tokens

_WORDS = {
    "en": """
        a about above according after again against all also am an and any are as at be because been before being
        between both but by can claim claimed claims could d depicts did do does doing down during each few for from
        further had has have having he her here hers him his how i if image in into is it its itself just ll m may
        me might more most must my new no nor not now of off on once one only or other our out over own people photo
        photograph picture pictured post posts re s said same say says she should show showed shows so some such t
        than that the their them then there these they this those through to too tweet under until up ve very video
        was we were what when where which while who whom why will with would you your
    """,
    "de": """
        ab aber alle allem allen aller alles als also am an ander andere anderen angeblich auch auf aus behauptung bei
        beim beitrag bin bis bist da dadurch damit dann das dass dein dem den denen denn der deren des dessen die
        dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch
        foto fur für gegen gewesen hab habe haben hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren
        ihrer im in ins ist ja jede jeder jedes jetzt kann kein keine keinen konnen konnte können laut leute machen
        man mehr mein menschen mit muss nach nicht nichts noch nun nur ob oder ohne post schon sehr sein seine
        seinem seinen seiner seit sich sie sind so soll sollen sollte sondern sonst sowie uber um und uns unser
        unter video vom von vor wahrend war waren was weg weil weiter welche wenn wer werde werden wie wieder will
        wir wird wirst wo wollen worden wurde wurden würde zeigen zeigt zu zum zur zwar zwischen über
    """,
    "es": """
        a afirma al algo algunas algunos ante antes asi aunque cada como con contra cual cuando de del desde dice
        dicen donde dos durante e el ella ellas ellos en entre era eran es esa ese eso esta estaba estan estas este
        esto estos foto fue fueron ha habia han hasta hay imagen la las le les lo los mas me mi mientras mucho
        muestra muy nada ni no nos o otra otro otros para pero personas poco por porque publicacion puede pueden que
        quien se sea segun ser si sido sin sobre son su sus tambien tan tanto te tiene tienen toda todo todos tras
        tu un una unas uno unos video y ya yo
    """,
    "fr": """
        a affirme alors apres au aucun aussi autre aux avant avec avoir bien ca ce ceci cela celle ces cet cette
        ceux chaque ci comme comment contre d dans de des deux dit doit donc dont du elle elles en encore entre est
        et etaient etait ete etre eux faire fait font hors il ils image je jusqu l la le les leur leurs lors lui ma
        mais meme mes moins mon montre ne ni nos notre nous on ont ou par parce pas personnes peu peut peuvent photo
        plus pour pourquoi qu quand que quel quelle qui quoi s sa sans se selon sera ses si son sont sous sur ta
        tous tout toute toutes tres trop tu un une vers video votre vous y
    """,
    "pt": """
        a afirma ao aos apos as ate cada com como contra da das de dela dele deles depois diz do dos e ela elas ele
        eles em entre era eram essa esse esta estao estas estava este estes eu foi foram foto ha imagem isso isto ja
        la lhe mais mas me mesmo meu minha mostra muito na nao nas nem no nos nossa nosso num numa o os ou para pela
        pelas pelo pelos pessoas pode podem por porque qual quando que quem sao se sem ser seu seus so sobre sua
        suas tambem tem tinha toda todo todos tu um uma umas uns vai video voce
    """,
    "ar": """
        أن أو أي إلى إن التي الذي الذين الى ان او ب بعد به بها بين تم ثم حتى حول خلال ذلك صورة ضد على عن عند غير ف
        في فيديو فيه فيها قبل قد كان كانت كل كما ل لا لكن لم لن له لها ما مع من منذ منشور هذا هذه هم هو هي و وقد وهو
        وهي يتم
    """,
    "hi": """
        अपने अब इस उस एक और कर करना करने जाता जाती जाते का कि किया की कुछ के को गई गए गया जब जो तक तब तस्वीर तो था थी थे दावा दे देता देती देते द्वारा
        नहीं ने पर फोटो बाद भी में यह या ये रहा रही रहे लिए लोग वह वीडियो वे सभी साथ से हर ही है हैं हो होता होती होते होने
    """,
    "zh": """
        一 一个 上 不 与 为 也 了 人 从 他 们 会 你 到 去 及 可以 和 图片 在 她 好 它 对 将 就 很 我 是 有 没有 照片 的 看 着 自己 被 要 视频 说 这 那 都
    """,
    "it": """
        a ad al alla alle anche che chi ci come con cosa da dal dalla dei del della delle di e era essere foto fra
        gli ha hanno i il in io la le lo loro ma mi nei nel nella non o per piu più quando quello questa questo sono
        su sua suo tra un una uno video è
    """,
}

STOP_WORDS = {language: frozenset(tokens(words)) for language, words in _WORDS.items()}
