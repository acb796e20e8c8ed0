import AdapterKit
import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing
import Waiting

@Suite("Secrets and personal data stay where they belong", .timeLimit(.minutes(10)))
struct PrivacyTests {
    /// Texts that must not be found, in any of their encodings.
    struct Canaries: Sendable {
        let texts: [String]

        /// Returns those contained in a text, unchanged, in Base64, percent-encoded or JSON-escaped.
        func found(in text: String) -> [String] {
            texts.filter { canary in Self.forms(of: canary).contains { text.contains($0) } }
        }

        func found(in bytes: Data) -> [String] {
            texts.filter { canary in Self.forms(of: canary).contains { bytes.holds($0) } }
        }

        /// Mostly two: searching the files of a run for each takes time.
        private static func forms(of canary: String) -> Set<String> {
            let base64 = Data(canary.utf8).base64EncodedString().prefix { $0 != "=" }
            let percent = canary.utf8.map { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                    || byte == 0x2d ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
            }
            let json = (try? JSON.encode(.string(canary))).map {
                String(decoding: $0.dropFirst().dropLast(), as: UTF8.self)
            }
            return [
                canary, String(base64.dropLast(2)), percent.joined(), percent.joined().lowercased(), json ?? canary,
                canary.replacing("@", with: "\\u0040"),
            ]
        }
    }

    /// Keys and tokens, configured or received.
    static let secrets = Canaries(texts: [
        "key-canary-7f3a", "token-canary-9b21", "access-canary-44d0", "rotated-canary-51c8",
    ])
    /// Personal data.
    static let persons = Canaries(texts: [
        "person-canary-0b7e", "anonymous-canary-3c1f", "grace.canary@example.com", "+49-30-555-canary", "Canary Hopper",
        "session-canary-note", "other-canary-8d2a", "order-canary-6e55",
    ])

    /// A vendor's answer that fails in some way and echoes the request.
    private static func answer(_ exchange: ScriptedTransport.Exchange, _ dice: inout Dice) -> ScriptedTransport.Answer {
        let told = (exchange.request.path ?? "") + exchange.text + exchange.request.headerFields.map(\.value).joined()
        if exchange.path.contains("oauth"), dice.below(3) > 0 {
            return .json(
                #"{"access_token":"access-canary-44d0","token_type":"bearer","expires_in":60,"refresh_token":"rotated-canary-51c8"}"#
            )
        }
        let persons = Self.persons.texts.joined(separator: " ")
        let quoted = (try? JSON.encode(.string(told + persons))).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
        switch dice.below(12) {
        case 0: return .status(dice.pick([204, 301, 400, 401, 403, 404, 408, 413, 429, 500, 503]))
        case 1: return .body(told + persons, type: "text/plain", status: dice.pick([200, 400, 500]))
        case 2:
            return .json(
                #"{"error":\#(quoted),"errorCode":"\#(persons)","message":\#(quoted)}"#,
                status: dice.pick([400, 401])
            )
        case 3: return .json(##"{"campaigns":"none","feature_flags":"none"}"##)
        // A valid answer, which names no person.
        case 4:
            return .json(#"{"campaigns":[{"id":"c","variation":7}],"feature_flags":[{"name":"f"}],"experiments":[]}"#)
        case 5:
            return .failure(ExperimentationError(dice.pick([.transport, .timeout, .tooLarge]), "no complete answer"))
        case 6:
            return .body(
                "<Envelope><Body><RESULT><SUCCESS>false</SUCCESS></RESULT><Fault><FaultString>\(persons)</FaultString><detail><error><errorid>128</errorid></error></detail></Fault></Body></Envelope>",
                type: "text/xml"
            )
        case 7: return .json(String(quoted.dropLast(3)))
        default: return .json("{}")
        }
    }

    @Test(
        "P47 no key, token or personal data appears in logs, errors, dumps or reasons, whatever fails",
        arguments: Vendor.allCases
    )
    func chaos(_ vendor: Vendor) async throws {
        for seed in 0..<(isSoak ? 40 : 6) {
            let folder = FileManager.default.temporaryDirectory.appending(path: "canaries-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let time = ManualTime()
            let log = RecordingLog(level: .trace)
            let environment = ClientEnvironment.still(time, log: log)
            let dice = Mutex(Dice(seed))
            let transport = SwitchedTransport { exchange in dice.withLock { Self.answer(exchange, &$0) } }
            let provider = vendor.provider(transport, secrets: ("key-canary-7f3a", "token-canary-9b21"))
            let store = try SQLiteStore(at: folder.appending(path: "store.sqlite"))
            let client = try await ExperimentationClient(
                provider: provider,
                store: ClientStore(outbox: store, state: store),
                environment: environment
            )
            let user = User(
                id: "person-canary-0b7e",
                anonymousID: "anonymous-canary-3c1f",
                attributes: [
                    "email": "grace.canary@example.com", "phone": "+49-30-555-canary",
                    "names": ["full": "Canary Hopper"],
                ],
                consent: .granted
            )
            let session = client.session(for: user)
            var said = ""
            func attempt(_ work: () async throws -> Void) async {
                do { try await work() } catch {
                    dump(error, to: &said)
                    said += "\n\(error) \(String(reflecting: error)) \((error as NSError).localizedDescription)\n"
                }
            }
            for step in 0..<25 {
                await attempt { try await session.refresh(force: true) }
                _ = session.details("flag", default: "none")
                await attempt {
                    try await session.track(.custom("session-canary-note", attributes: ["order": "order-canary-6e55"]))
                }
                await attempt { _ = try await client.flush(retrying: false) }
                if step % 9 == 8 { await attempt { try await session.link(to: Identity(id: "other-canary-8d2a")) } }
                await attempt { said += try await client.outboxStatus().failures.keys.joined(separator: "\n") }
                time.advance(by: .seconds(400))
            }
            for value in [provider, client, session, client.status] as [Any] { dump(value, to: &said, maxDepth: 3) }
            dump(provider, to: &said)
            said += String(reflecting: provider) + String(describing: client)
            let logged = log.entries.map { "\($0.event) \($0.message) \($0.fields)" }.joined(separator: "\n")
            #expect(!logged.isEmpty || !said.isEmpty)
            for (name, text) in [("the log", logged), ("what was said", said)] {
                #expect(Self.secrets.found(in: text) == [], "\(vendor), seed \(seed): a secret in \(name)")
                let found = Self.persons.found(in: text)
                let place = found.first.flatMap { text.range(of: $0) }.map {
                    "\(text[..<$0.lowerBound].suffix(200))…\(text[$0.upperBound...].prefix(80))"
                }
                #expect(found == [], "\(vendor), seed \(seed): a person in \(name): \(place ?? "")")
            }
            // Keys belong to the application's configuration. Tokens that a vendor issues in their place are stored.
            var files = try Self.contents(of: folder)
            for canary in ["key-canary-7f3a", "token-canary-9b21", "access-canary-44d0"] {
                #expect(files.allSatisfy { Canaries(texts: [canary]).found(in: $0) == [] }, "\(canary) in a file")
            }
            // After a withdrawal nothing of the person is left, once vendors with a consent signal have received it.
            transport.answer { exchange in
                exchange.path.contains("oauth")
                    ? .json(#"{"access_token":"access-canary-44d0","token_type":"bearer","expires_in":60}"#)
                    : .body("{}", type: "application/json")
            }
            // Linking makes the earlier id another user's, so both withdraw.
            try await session.setConsent(.denied)
            try await client.session(for: user).setConsent(.denied)
            for _ in 0..<4 {
                _ = try await client.flush(retrying: false)
                time.advance(by: .seconds(400))
            }
            let left = try await client.outboxStatus()
            await client.shutdown()
            // Closing the store erases whatever was removed.
            await store.close()
            files = try Self.contents(of: folder)
            // Flagship's consent signal contains the id, so only that may remain.
            let ids = ["person-canary-0b7e", "anonymous-canary-3c1f", "other-canary-8d2a"]
            let isTold = [.flagshipAsked, .flagshipComputed].contains(vendor)
            let found = Set(files.flatMap { Self.persons.found(in: $0) }).subtracting(isTold ? ids : [])
            #expect(found == [], "\(vendor), seed \(seed): a person in a file, \(left)")
        }
    }

    private static func contents(of folder: URL) throws -> [Data] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).map {
            try Data(contentsOf: folder.appending(path: $0))
        }
    }

    @Test("the search finds every encoding")
    func searches() {
        let canaries = Canaries(texts: ["grace.canary@example.com"])
        for text in [
            "x grace.canary@example.com y", "grace%2Ecanary%40example%2Ecom",
            "a " + Data("grace.canary@example.com".utf8).base64EncodedString(), #""grace.canary\u0040example.com""#,
        ] {
            #expect(canaries.found(in: text) == ["grace.canary@example.com"], "\(text)")
            #expect(canaries.found(in: Data(text.utf8)) == ["grace.canary@example.com"], "\(text)")
        }
        #expect(canaries.found(in: "grace@example.com") == [])
    }

    @Test("P58 a log entry is one line, and nothing in it moves the cursor or changes the text direction")
    func oneLine() async throws {
        var dice = Dice(58)
        let pieces = [
            "a", "\r", "\n", "\r\n", "\u{1b}[2J", "\u{1b}]0;x\u{7}", "\0", "\u{8}", "\u{7f}", "\u{85}", "\u{9b}31m",
            "\u{2028}", "\u{2029}", "\u{202e}", "\u{2066}", "\u{200f}", "\u{61c}", "\u{feff}", "é", "😀", "\t", " ",
            "\n2026-11-21 ERROR forged",
        ]
        let log = RecordingLog(level: .trace)
        var calls = 0
        for _ in 0..<200 {
            let id = (0...dice.below(6)).map { _ in dice.pick(pieces) }.joined()
            log.log(.info, "test.event", "about \(id) and so on", fields: ["id": id])
            calls += 1
            // The same where the library itself puts external names into a message.
            let provider = InMemoryProvider(name: "vendor \(id)", needsConsent: false)
            provider.setFailure(ExperimentationError(.transport, "no answer for \(id)"))
            let client = try await ExperimentationClient(
                provider: provider,
                environment: ClientEnvironment(time: ManualTime(), log: log)
            )
            try? await client.session(for: User(id: "u")).refresh()
            await client.shutdown()
        }
        let entries = log.entries
        #expect(entries.count >= calls)
        for entry in entries {
            let line = ([entry.event, entry.message] + entry.fields.map { "\($0)=\($1)" }).joined(separator: " ")
            #expect(line.split(omittingEmptySubsequences: false) { $0.isNewline }.count == 1)
            let isPlain = line.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: false
                case .format: scalar.value == 0x200d
                default: true
                }
            }
            #expect(isPlain, "\(line.debugDescription)")
        }
        let one = LogEntry(.info, "e", "a\r\nb\u{1b}[0m é😀", fields: ["k": "\u{202e}x"])
        #expect(one.message == #"a\u{d}\u{a}b\u{1b}[0m é😀"#)
        #expect(one.fields == ["k": #"\u{202e}x"#])
    }
}

extension Data {
    /// Whether the bytes contain a text; `range(of:)` takes very long where nothing is optimized.
    func holds(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { part in
            withUnsafeBytes { bytes in
                guard let first = part.first, let start = part.baseAddress else { return true }
                guard var place = bytes.baseAddress else { return false }
                let end = place + bytes.count
                while let hit = memchr(place, Int32(first), end - place), end - UnsafeRawPointer(hit) >= part.count {
                    if memcmp(hit, start, part.count) == 0 { return true }
                    place = UnsafeRawPointer(hit) + 1
                }
                return false
            }
        }
    }
}
