import Experimentation

/// HMAC-SHA256 (RFC 2104), which proves that the sender of a message has the key.
enum KeyedDigest {
    private static let block = 64

    /// Returns the 32 bytes of the code.
    static func sha256(_ message: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        var key = key.count > block ? Digest.sha256(key) : key
        key += repeatElement(0, count: block - key.count)
        let inner = Digest.sha256(key.map { $0 ^ 0x36 } + message)
        return Digest.sha256(key.map { $0 ^ 0x5c } + inner)
    }
}
