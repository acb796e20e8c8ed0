import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing
import Waiting

@testable import OFREPAdapter

@Suite("OFREP: waits that the server asks for")
struct PatienceTests {
    private let start = ContinuousClock.now
    private var patience = OFREPPatience()

    /// Notes an answer, its request's begin and its arrival in seconds.
    private mutating func note(_ status: Int, retryAfter: String? = nil, since begin: Double = 0, at end: Double = 0) {
        let fields: HTTPFields = retryAfter.map { [.retryAfter: $0] } ?? [:]
        let reply = HTTPReply(response: HTTPResponse(status: .init(code: status), headerFields: fields))
        patience.note(
            reply,
            OFREPErrors.failure(of: reply, isConditional: false),
            since: start.advanced(by: .seconds(begin)),
            at: start.advanced(by: .seconds(end)),
            date: .distantPast
        )
    }

    /// The whole seconds after the start at which the server may be asked again.
    private var pause: Int {
        (0...20_000).first { patience.objection(at: start.advanced(by: .seconds($0))) == nil } ?? -1
    }

    @Test("a 429 pauses until its date: no request is sent before", arguments: ["30", "2026-11-21T10:00:30Z"])
    func patience(until date: String) async throws {
        let time = ManualTime()
        let transport = ScriptedTransport([
            Samples.answer("green"), .status(429, headers: [.retryAfter: date]), Samples.answer("blue"),
        ])
        let client = try await Samples.client(transport, time: time)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        #expect(await failure(of: session)?.code == .vendorFault)
        time.advance(by: .seconds(29))
        #expect(await failure(of: session)?.message.contains("isn't asked again for 1 s") == true)
        #expect(await failure(of: client.session(for: User(id: "u-2"))) != nil)
        #expect(transport.requests.count == 2)
        #expect(session.details("color", default: "red").reason == .stale)
        time.advance(by: .seconds(1))
        try await session.refresh()
        #expect(session.string("color", default: "red") == "blue")
        await client.shutdown()
    }

    @Test("a failed request isn't repeated while the answer to another asks for a wait", arguments: [429, 401])
    func otherRequest(status: Int) async throws {
        let time = ManualTime()
        let transport = ScriptedTransport([
            .status(503, headers: [.retryAfter: "1"]), .status(status, headers: [.retryAfter: "600"]),
            Samples.answer("green"),
        ])
        let client = try await Samples.client(transport, time: time) { $0.retry = HTTPRetry(statuses: [503]) }
        let first = Task { await failure(of: client.session(for: User(id: "u-1"))) }
        await time.waitForSleepers(1)
        #expect(await failure(of: client.session(for: User(id: "u-2"))) != nil)
        time.advance(by: .seconds(5))
        #expect(await first.value?.message.contains("isn't asked again") == true)
        #expect(transport.requests.count == 2)
        await client.shutdown()
    }

    @Test("a 429 is never repeated, whatever statuses the application's own policy has")
    func unrepeated() async throws {
        let transport = ScriptedTransport([.status(429), Samples.answer("green")])
        let client = try await Samples.client(transport) { $0.retry = HTTPRetry() }
        #expect(await failure(of: client.session(for: User(id: "u-1")))?.code == .vendorFault)
        #expect(transport.requests.count == 1)
        await client.shutdown()
    }

    @Test("a 429 without a date pauses for 1, 2, 4 … 60 s")
    mutating func withoutDate() {
        var ends = [0]
        for _ in 0..<8 {
            note(429, since: Double(ends[ends.count - 1]), at: Double(ends[ends.count - 1]))
            ends.append(pause)
        }
        #expect(zip(ends, ends.dropFirst()).map { $1 - $0 } == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test(
        "refusals of concurrent requests count once",
        arguments: [(401, 900, 2_700), (403, 900, 2_700), (429, 1, 3)]
    )
    mutating func together(status: Int, first: Int, second: Int) {
        for _ in 0..<5 { note(status) }
        #expect(pause == first)
        for _ in 0..<5 { note(status, since: Double(first), at: Double(first)) }
        #expect(pause == second)
    }

    @Test(
        "an answer to an older request shortens no wait",
        arguments: [(200, nil), (304, nil), (400, nil), (503, nil), (429, nil), (429, "5")] as [(Int, String?)]
    )
    mutating func older(status: Int, retryAfter: String?) {
        note(429, retryAfter: "60", since: 0, at: 1)
        note(status, retryAfter: retryAfter, since: 0, at: 2)
        #expect(pause == 61)
    }

    @Test("an older answer never restores refused credentials, but a newer one does")
    mutating func accepted() {
        note(401)
        note(200, at: 5)
        #expect(patience.isRefused)
        #expect(pause == 900)
        note(429, at: 6)
        #expect(patience.isRefused)
        #expect(pause == 900)
        note(200, since: 900, at: 901)
        #expect(!patience.isRefused)
        #expect(pause == 0)
    }

    @Test("of the waits in answers to concurrent requests, the longest counts")
    mutating func longer() {
        note(429, retryAfter: "5")
        note(429, retryAfter: "60")
        note(429, retryAfter: "30")
        #expect(pause == 60)
    }

    @Test("users asked about at once and refused wait a quarter of an hour, not hours")
    func refusedTogether() async throws {
        let time = ManualTime()
        let transport = LateTransport()
        let client = try await Samples.client(transport, time: time)
        let sessions = (0..<5).map { client.session(for: User(id: "u-\($0)")) }
        let errors = await withTaskGroup(of: ErrorCode?.self) { group in
            for session in sessions { group.addTask { await failure(of: session)?.code } }
            try? await eventually("five questions") { transport.count == 5 }
            for index in 0..<5 { transport.answer(index, .status(401)) }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors == Array(repeating: .unauthorized, count: 5))
        #expect(await failure(of: sessions[0])?.message.contains("isn't asked again for 900 s") == true)
        #expect(transport.count == 5)
        await client.shutdown()
    }

    @Test("a good answer that was on its way doesn't end the wait that another user's answer asked for")
    func underWay() async throws {
        let time = ManualTime()
        let transport = LateTransport()
        let client = try await Samples.client(transport, time: time)
        let (one, other) = (client.session(for: User(id: "a")), client.session(for: User(id: "b")))
        async let first = failure(of: one)
        try await eventually("the first question") { transport.count == 1 }
        async let second = failure(of: other)
        try await eventually("the second question") { transport.count == 2 }
        transport.answer(1, .status(429, headers: [.retryAfter: "60"]))
        #expect(await second?.code == .vendorFault)
        transport.answer(0, "green")
        #expect(await first == nil)
        #expect(one.string("color", default: "red") == "green")
        time.advance(by: .seconds(3))
        #expect(await failure(of: other)?.message.contains("isn't asked again for 57 s") == true)
        #expect(transport.count == 2)
        await client.shutdown()
    }

    @Test("streams closed with refused credentials are opened again when the last answer is confirmed")
    func reopens() async throws {
        let time = ManualTime()
        let streams = #","eventStreams":[{"type":"sse","url":"https://events.example.com/a"}]"#
        let flags = Mutex([Samples.answer("green", tag: "\"1\"", more: streams), .status(401), .status(304)])
        let opened = Mutex(0)
        let transport = ScriptedTransport { exchange in
            guard exchange.method == "POST" else {
                opened.withLock { $0 += 1 }
                return .silence
            }
            return flags.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
        let client = try await Samples.client(transport, changes: .events, time: time)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        try await eventually("the stream") { opened.withLock { $0 } == 1 }
        #expect(await failure(of: session)?.code == .unauthorized)
        time.advance(by: .seconds(901))
        try await session.refresh()
        try await eventually("the stream again") { opened.withLock { $0 } == 2 }
        await client.shutdown()
    }

    @Test(
        "401 and 403 stop requests for a quarter of an hour, then for longer, with one clear code",
        arguments: [401, 403]
    )
    func refused(status: Int) async throws {
        let time = ManualTime()
        let transport = ScriptedTransport { _ in .status(status) }
        let client = try await Samples.client(transport, changes: .polling, time: time)
        let session = client.session(for: User(id: "u-1"))
        #expect(await failure(of: session)?.code == .unauthorized)
        #expect(client.status == .error)
        // Changed attributes don't shorten the wait either.
        try session.update(["plan": "pro"])
        #expect(await failure(of: session)?.code == .unauthorized)
        let asked = transport.requests.count
        for _ in 0..<14 {
            await time.waitForSleepers(1)
            time.advance(by: .seconds(60))
        }
        #expect(transport.requests.count == asked)
        time.advance(by: .seconds(61))
        _ = await failure(of: session)
        #expect(transport.requests.count == asked + 1)
        time.advance(by: .seconds(1_700))
        _ = await failure(of: session)
        #expect(transport.requests.count == asked + 1)
        await client.shutdown()
    }
}
