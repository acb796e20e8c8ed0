extension String {
    /// The text escaped for XML and HTML, in elements and attributes.
    ///
    /// Characters that are invisible but affect the display become replacement characters.
    package var escaped: String {
        var text = ""
        text.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            case "\t", "\n", "\r": text.unicodeScalars.append(scalar)
            case "\u{FFFE}", "\u{FFFF}": text += "\u{FFFD}"
            case _ where !OneLine.isPlain(scalar): text += "\u{FFFD}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
