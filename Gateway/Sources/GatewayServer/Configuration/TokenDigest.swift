import AdapterKit

/// The digest of a bearer token; the token itself isn't stored.
public struct TokenDigest: Sendable, Hashable {
    private let bytes: [UInt8]

    /// Creates the digest of a token.
    public init(of token: String) { bytes = SHA256.digest(of: token.utf8) }

    /// Creates a digest from 64 hexadecimal digits, as printed by `sha256sum`.
    ///
    /// - Parameter text: The digits; for anything else the result is `nil`.
    public init?(hexadecimal text: String) {
        guard text.utf8.count == 64 else { return nil }
        var bytes: [UInt8] = []
        var rest = Substring(text)
        while !rest.isEmpty {
            guard rest.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
                let byte = UInt8(rest.prefix(2), radix: 16)
            else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        self.bytes = bytes
    }

    /// Compares in constant time.
    public static func == (one: Self, other: Self) -> Bool {
        var difference: UInt8 = 0
        for (one, other) in zip(one.bytes, other.bytes) { difference |= one ^ other }
        return difference == 0
    }

    /// Derives a name for one purpose, which reveals neither the digest nor the token.
    func derived(for purpose: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let digest = SHA256.digest(of: Array(purpose.utf8) + bytes).prefix(16)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension TokenDigest: CustomStringConvertible, CustomReflectable {
    /// The text `<digest>`.
    public var description: String { "<digest>" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
