import Testing

@testable import SigmaAdapter

@Suite("MD5")
struct MD5Tests {
    @Test(
        "returns the digests of RFC 1321",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f"
            ),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a"
            ),
        ]
    )
    func published(text: String, sum: String) {
        #expect(MD5(of: Array(text.utf8)).hexadecimal == sum)
        #expect(MD5(of: Array(text.utf8)).prefix == UInt64(sum.prefix(16), radix: 16))
    }

    @Test(
        "returns the digests of `md5sum` for lengths around the ends of blocks",
        arguments: [
            (55, "f1289732253518750e22b62a571a1748"),
            (56, "179e3b9fa272a23e2a8b32bde1015414"),
            (57, "d5f0a59aa9d6d8164d3754fb91f67809"),
            (63, "dd785945d1d6b87eca0d276dbb8756fd"),
            (64, "e3ab394ce4eb7da020a27d2e2443143c"),
            (65, "28a6b0f918d9aea03e979a1657d8d0f6"),
            (119, "d49720530a386a3191eac0dc840dd1bd"),
            (120, "8a440004b569286a42c722295ce1c5a6"),
            (127, "36d03458e8a745e61afcf02257826e12"),
            (128, "52cc29caecfd9380a2261a80c58e6787"),
            (129, "0fa5eac15b498f879494809c74939fc7"),
            (1000, "c3b2968d34e038455d14c8827156e193"),
        ]
    )
    func lengths(count: Int, sum: String) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + count) }
        #expect(MD5(of: bytes).hexadecimal == sum)
    }
}
