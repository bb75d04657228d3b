package language

import "unicode"

// Vietnamese words are not inflected, and tones and vowels distinguish them: ma, má, mà, mả, mã, mạ.
var vietnameseLanguage = &Language{
	Code: "vi", Name: "Vietnamese", Script: unicode.Latin,
	Aliases:      "vie",
	KeepsAccents: true,
	StopWords: `và của là các những một có được cho trong với không này đó để từ khi đã đang sẽ cũng như thì mà
		bị bởi do vì nên nếu hoặc hay tại trên dưới vào ra đến tới về theo sau trước giữa cùng rằng thế vậy
		gì ai đâu nào sao bao nhiêu mấy đây ấy kia rất lại còn chỉ đều nữa tôi bạn họ nó chúng ta ông bà mình
		phải cần vẫn chưa từng mỗi mọi cả việc sự cái con chiếc người bằng qua nhưng tuy dù ở`,
	Letters: "ạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹđăơư",
}
