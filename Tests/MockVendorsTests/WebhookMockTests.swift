import Foundation
import Testing

@testable import MockVendors

@Suite("The webhook's receiver")
struct WebhookMockTests {
    @Test("its digests equal those of FIPS 180-4, and its codes those of RFC 4231")
    func digest() {
        func hexadecimal(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }
        #expect(
            hexadecimal(WebhookSignature.sha256(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
        #expect(
            hexadecimal(
                WebhookSignature.sha256(Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8))
            ) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        )
        #expect(
            hexadecimal(WebhookSignature.hmac(Array("Hi There".utf8), key: [UInt8](repeating: 0x0b, count: 20)))
                == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        )
    }

    private static let body =
        #"{"events":[{"at":"2026-11-21T10:00:00.000Z","event":{"name":"a","type":"custom"},"id":"1","user":{"id":"u"}}],"#
        + #""id":"b"}"#

    private func request(
        _ body: String = body,
        id: String = "b",
        time: String = "1795255200",
        signed: String? = nil
    ) -> MockRequest {
        let key = Data(base64Encoded: String(WebhookMock.secret.dropFirst(6))).map { Array($0) } ?? []
        let signature = WebhookSignature.text(id: id, time: time, body: Array(body.utf8), key: key)
        return MockRequest(
            method: "POST",
            path: "/in",
            headers: [
                .init("webhook-id", id), .init("idempotency-key", id), .init("webhook-timestamp", time),
                .init("webhook-signature", signed ?? signature),
            ],
            body: Array(body.utf8)
        )
    }

    @Test("a signed batch is accepted, and rejected events are named")
    func taken() async {
        let mock = WebhookMock()
        #expect(await mock.respond(to: request()).status == 200)
        mock.reject(named: ["a"])
        #expect(String(decoding: await mock.respond(to: request()).body, as: UTF8.self) == #"{"rejected":["1"]}"#)
        #expect(mock.batches.map(\.events.count) == [1, 0])
    }

    @Test("an event may have each member of the form, and no other", arguments: ["campaignTargets", "extra"])
    func members(name: String) async {
        let body = Self.body.replacingOccurrences(of: "{\"at\"", with: "{\"\(name)\":[\"a\"],\"session\":\"s\",\"at\"")
        let status = await WebhookMock().respond(to: request(body)).status
        #expect(status == (name == "extra" ? 400 : 200))
    }

    @Test("whatever isn't as it was signed, or isn't a batch, is refused and leaves nothing")
    func refused() async {
        let mock = WebhookMock()
        let bad: [(MockRequest, Int)] = [
            (request(signed: "v1,AAAA"), 401),
            (request(Self.body.replacingOccurrences(of: "custom", with: "other"), signed: "v1,AAAA"), 401),
            (request(time: "soon"), 401),
            (request(id: "another"), 400),
            (request(#"{"events":[],"id":"b"}"#), 400),
            (request(#"{"events":[{"id":"1"}],"id":"b"}"#), 400),
            (request("[]"), 400),
        ]
        for (request, status) in bad { #expect(await mock.respond(to: request).status == status) }
        #expect(mock.batches == [] && mock.refusals.count == bad.count)
    }
}
