/// MD5 digests as strings, for names and for comparing documents; not for security.
enum SigmaDigest {
    /// Returns the digest of a string in hexadecimal.
    static func hexadecimal(of text: String) -> String { hexadecimal(of: Array(text.utf8)) }

    /// Returns the digest of bytes in hexadecimal.
    static func hexadecimal(of bytes: [UInt8]) -> String { MD5(of: bytes).hexadecimal }
}
