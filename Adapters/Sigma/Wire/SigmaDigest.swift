/// MD5 sums as text, for names and for telling whether a document is the same; not for security.
enum SigmaDigest {
    /// The sum of a text, in hexadecimal.
    static func hexadecimal(of text: String) -> String { hexadecimal(of: Array(text.utf8)) }

    /// The sum of bytes, in hexadecimal.
    static func hexadecimal(of bytes: [UInt8]) -> String { MD5(of: bytes).hexadecimal }
}
