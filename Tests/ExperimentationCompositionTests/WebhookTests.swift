import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Testing

@testable import ExperimentationComposition

@Suite("Events to a webhook")
struct WebhookTests {
    private let time = ManualTime()

    /// RFC 4231, section 4: key and data as text or repeated bytes, and the code in hexadecimal.
    static let rfc4231: [(key: [UInt8], data: [UInt8], code: String)] = [
        (
            .init(repeating: 0x0b, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            .init(repeating: 0xaa, count: 20), .init(repeating: 0xdd, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            Array(1...25), .init(repeating: 0xcd, count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            .init(repeating: 0xaa, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            .init(repeating: 0xaa, count: 131),
            Array(
                "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm."
                    .utf8
            ),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test("authentication codes equal those of RFC 4231", arguments: rfc4231.indices)
    func vectors(index: Int) {
        let (key, data, code) = Self.rfc4231[index]
        let made = KeyedDigest.sha256(data, key: key).map { String($0, radix: 16).leftPadded }.joined()
        #expect(made == code)
    }

    @Test("a signature equals the example of Standard Webhooks")
    func signature() {
        let key = WebhookConfiguration(endpoint: Self.endpoint, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").key
        let signature = WebhookRequests.signature(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            Array(#"{"test": 2432232314}"#.utf8),
            key: key ?? []
        )
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    private static let endpoint = Endpoint(https: "events.example.com", path: "/in")

    private func deliver(_ answer: ScriptedTransport.Answer, _ count: Int = 2) async throws -> (
        DeliveryReport, ScriptedTransport
    ) {
        let transport = ScriptedTransport([answer, answer])
        let provider = WebhookProvider(
            configuration: WebhookConfiguration(endpoint: Self.endpoint, secret: "s"),
            transport: transport
        )
        let roles = try await provider.start(in: ProviderContext(environment: ClientEnvironment(time: time)))
        let events = (0..<count).map { number in
            Envelope(id: "id-\(number)", identity: Identity(id: "ada"), event: .custom("e"), date: time.now)
        }
        return (try #require(await roles.events?.deliver(events)), transport)
    }

    @Test("a batch is sent once, with an id by which a repetition is recognized")
    func request() async throws {
        let (_, first) = try await deliver(.status(204))
        let (_, second) = try await deliver(.status(204))
        let sent = try #require(first.requests.first)
        #expect(first.requests.count == 1 && sent.method == "POST" && sent.path == "/in")
        func field(_ name: String, of exchange: ScriptedTransport.Exchange?) -> String? {
            HTTPField.Name(name).flatMap { exchange?.request.headerFields[$0] }
        }
        #expect(field("webhook-id", of: sent)?.count == 64)
        #expect(field("webhook-id", of: sent) == field("webhook-id", of: second.requests.first))
        #expect(field("webhook-timestamp", of: sent) == "1795255200")
        #expect(field("webhook-signature", of: sent)?.hasPrefix("v1,") == true)
        let body = try JSON.parse(sent.body).objectValue
        #expect(body?["events"]?.arrayValue?.map { $0.objectValue?["id"] } == ["id-0", "id-1"])
    }

    /// Answers, and their verdicts on a batch of two.
    static let answers: [(ScriptedTransport.Answer, [Verdict])] = [
        (.status(200), [.delivered, .delivered]),
        (.json("{}"), [.delivered, .delivered]),
        (.body("ok", type: "text/plain"), [.delivered, .delivered]),
        (.body("OK", type: "text/html; charset=utf-8"), [.delivered, .delivered]),
        (.json(#"{"rejected":["id-1"]}"#), [.delivered, .rejected("the receiver refuses it")]),
        (
            .body("<!doctype html><p>Log in", type: "text/html"),
            [.outage(because: .foreign), .outage(because: .foreign)]
        ),
        (
            .body("\n <html>", type: "application/octet-stream"),
            [.outage(because: .foreign), .outage(because: .foreign)]
        ),
        (
            .body(#"{"rejected":["id-"#, type: "application/json; charset=utf-8"),
            [.outage(because: .foreign), .outage(because: .foreign)]
        ),
        (.body(" \n", type: "application/json"), [.delivered, .delivered]),
        (.status(302), [.outage(because: .answered(302)), .outage(because: .answered(302))]),
        (.status(503), [.outage(because: .answered(503)), .outage(because: .answered(503))]),
        (.status(400), [.failed("the vendor answered 400"), .failed("the vendor answered 400")]),
        (.failure(ExperimentationError(.timeout, "late")), [.outage(because: .timeout), .outage(because: .timeout)]),
    ]

    @Test("an answer contains the verdict on each event; an HTML page isn't delivery", arguments: answers.indices)
    func verdicts(index: Int) async throws {
        let (answer, verdicts) = Self.answers[index]
        #expect(try await deliver(answer).0.verdicts(count: 2) == verdicts)
    }

    @Test("a secret with invalid Base64 is rejected at the start")
    func badSecret() async {
        let configuration = WebhookConfiguration(endpoint: Self.endpoint, secret: "whsec_%")
        await #expect(throws: ExperimentationError.self) {
            _ = try await WebhookProvider(configuration: configuration).start(in: ProviderContext())
        }
    }
}

extension String {
    fileprivate var leftPadded: String { count == 1 ? "0" + self : self }
}
