import Crypto

/// MD5 sums as text, for names and for telling whether a document is the same; not for security.
enum SigmaDigest {
    /// The sum of a text, in hexadecimal.
    static func hexadecimal(of text: String) -> String { hexadecimal(of: Array(text.utf8)) }

    /// The sum of bytes, in hexadecimal.
    static func hexadecimal(of bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let sum = Insecure.MD5.hash(data: bytes).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: sum, as: UTF8.self)
    }
}
