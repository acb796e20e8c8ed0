import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import Experimentation

/// A vendor that is asked for each user and answers with a number that grows; it fails, is disabled or waits on request.
private final class CountingVendor: ExperimentationProvider, DecisionSource, ChangeSource {
    enum Mode: Sendable {
        case decides
        case fails(ErrorCode)
        case disabled
        /// Decides once the gate is open.
        case waits(AsyncGate)
    }

    private struct State {
        var mode = Mode.decides
        var requests: [String] = []
        var waiters: [(count: Int, gate: AsyncGate)] = []
        var listener: AsyncStream<ChangeNotice>.Continuation?
    }

    let name = "counting"
    let scope = ""
    let capabilities: Set<Capability> = [.flags]
    let freshness: Freshness
    private let state = Mutex(State())

    init(freshness: Freshness = Freshness()) { self.freshness = freshness }

    /// The number of requests to it.
    var count: Int { state.withLock { $0.requests.count } }

    func set(_ mode: Mode) { state.withLock { $0.mode = mode } }

    /// Waits for a number of requests to it.
    func untilAsked(_ count: Int) async {
        let gate = AsyncGate()
        state.withLock { state in
            if state.requests.count >= count { gate.open() } else { state.waiters.append((count, gate)) }
        }
        await gate.wait()
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = ProviderRoles(decisions: .asked(self))
        roles.changes = self
        return roles
    }

    func notices() -> AsyncStream<ChangeNotice> {
        let (notices, listener) = AsyncStream.makeStream(of: ChangeNotice.self)
        state.withLock { $0.listener = listener }
        return notices
    }

    func setApplicationState(_ applicationState: ApplicationState) {}

    /// Announces a change.
    func tellChange() { _ = state.withLock { $0.listener }?.yield(.changed) }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let (mode, number) = state.withLock { state in
            state.requests.append(context.user.id)
            let count = state.requests.count
            for waiter in state.waiters where waiter.count <= count { waiter.gate.open() }
            return (state.mode, count)
        }
        switch mode {
        case .fails(let code): throw ExperimentationError(code, "gone")
        case .disabled: return .disabled
        case .waits(let gate): await gate.wait()
        case .decides: break
        }
        return .decided(Decisions(flags: [("number", Resolution(.int(number), reason: .split))]))
    }
}

@Suite("Answers of a vendor that is asked are used again")
struct AnswerReuseTests {
    private static let policy = AnswerReuse(lifetime: .seconds(10), grace: .seconds(60), failures: .seconds(2))
    private static let ada = User(id: "ada", attributes: ["plan": "pro"], consent: .granted)

    private let time = ManualTime()

    private func client(
        _ vendor: CountingVendor,
        _ policy: AnswerReuse? = Self.policy,
        bytes: Int = 1_000_000
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: vendor,
            options: ClientOptions(decisionCacheBytes: bytes, answerReuse: policy),
            environment: ClientEnvironment(time: time)
        )
    }

    private func number(_ client: ExperimentationClient, _ user: User = Self.ada) async throws -> Int {
        try await client.decisions(for: user).int("number", default: 0)
    }

    private func reason(_ client: ExperimentationClient, _ user: User = Self.ada) async throws -> Reason {
        try await client.decisions(for: user).details("number", default: 0).reason
    }

    @Test("an answer is used again until its lifetime is over, with the reason it came with")
    func fresh() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        time.advance(by: .seconds(10))
        #expect(try await number(client) == 1)
        #expect(try await reason(client) == .split)
        #expect(vendor.count == 1)
        #expect(client.answerFigures.fresh == 2)
        #expect(client.answerFigures.asked == 1)
    }

    @Test("an answer from before a change that the vendor announces isn't used again")
    func told() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        vendor.tellChange()
        try await eventually("the change is known") { try await number(client) == 2 }
        #expect(try await number(client) == 2)
        #expect(try await reason(client) == .split)
        #expect(vendor.count == 2)
    }

    @Test("a caller after such a change doesn't get the answer to a request from before it")
    func toldMeanwhile() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        let gate = AsyncGate()
        vendor.set(.waits(gate))
        async let first = number(client)
        await vendor.untilAsked(1)
        // Another user's answer shows when the change is known.
        vendor.set(.decides)
        let bob = User(id: "bob")
        let former = try await number(client, bob)
        vendor.tellChange()
        try await eventually("the change is known") { try await number(client, bob) != former }
        async let second = number(client)
        try await eventually("both wait for one request") { client.core.decisionFlights.callers == 2 }
        gate.open()
        #expect(try await first == 1)
        let later = try await second
        #expect(later > 1)
        #expect(try await number(client) == later)
    }

    @Test("if the vendor is away after such a change, the earlier answer is stale")
    func toldAndAway() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        vendor.set(.fails(.transport))
        vendor.tellChange()
        try await eventually("the change is known") { (try? await number(client)) == nil }
        #expect(try await reason(client) == .stale)
        #expect(try await number(client) == 1)
        #expect(vendor.count == 2)
    }

    @Test("without the option each request asks")
    func without() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor, nil)
        for expected in 1...3 { #expect(try await number(client) == expected) }
    }

    @Test(
        "contexts that differ in anything don't share an answer",
        arguments: [
            User(id: "ada", attributes: ["plan": "free"], consent: .granted),
            User(id: "ada", attributes: ["plan": "pro", "age": 1], consent: .granted),
            User(id: "ada", attributes: ["plan": "pro"], consent: .unknown),
            User(id: "ada", anonymousID: "x", attributes: ["plan": "pro"], consent: .granted),
            User(id: "ada", isAuthenticated: true, attributes: ["plan": "pro"], consent: .granted),
            User(id: "bob", attributes: ["plan": "pro"], consent: .granted),
        ]
    )
    func contexts(other: User) async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        #expect(try await number(client, other) == 2)
        #expect(try await number(client) == 1)
        #expect(try await number(client, other) == 2)
    }

    @Test(
        "numbers with and without a fraction, and spellings of a letter, are different contexts; so are earlier assignments"
    )
    func exact() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        let users = [FlagValue.int(1), .double(1), "é", "e\u{301}"].map { User(id: "ada", attributes: ["x": $0]) }
        for (place, user) in users.enumerated() { #expect(try await number(client, user) == place + 1) }
        for (place, user) in users.enumerated() { #expect(try await number(client, user) == place + 1) }
        let honored = try await client.decisions(for: users[0], honoring: ["checkout": "green"])
        #expect(honored.int("number", default: 0) == 5)
    }

    @Test("within the grace an old answer is returned at once as stale, and one request fetches a newer one")
    func grace() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        time.advance(by: .seconds(11))
        let gate = AsyncGate()
        vendor.set(.waits(gate))
        for _ in 0..<50 {
            let old = try await client.decisions(for: Self.ada)
            #expect(old.details("number", default: 0).reason == .stale)
            #expect(old.int("number", default: 0) == 1)
        }
        await vendor.untilAsked(2)
        #expect(vendor.count == 2)
        #expect(client.answerFigures.stale == 50)
        gate.open()
        // A call beyond the grace joins the current request, or finds its answer.
        time.advance(by: .seconds(61))
        #expect(try await number(client) >= 2)
    }

    @Test("a newer answer that was fetched meanwhile is current again")
    func renewed() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        time.advance(by: .seconds(11))
        #expect(try await reason(client) == .stale)
        await vendor.untilAsked(2)
        try await eventually("the newer answer is there") { try await reason(client) == .split }
        #expect(try await number(client) == 2)
        #expect(vendor.count == 2)
    }

    @Test("after the grace the vendor's answer is waited for")
    func late() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        time.advance(by: .seconds(71))
        #expect(try await number(client) == 2)
        #expect(try await reason(client) == .split)
    }

    @Test("a vendor whose expired decisions count as absent has no grace, and its own shorter lifetime counts")
    func notReady() async throws {
        let vendor = CountingVendor(freshness: Freshness(lifetime: .seconds(3), afterExpiry: .notReady))
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        time.advance(by: .seconds(4))
        #expect(try await number(client) == 2)
    }

    @Test(
        "a failure is remembered for its context, and the vendor is asked again when its time is over",
        arguments: [ErrorCode.transport, .timeout, .vendorFault, .configuration, .parseError]
    )
    func failure(code: ErrorCode) async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        vendor.set(.fails(code))
        for _ in 0..<20 {
            await #expect(throws: ExperimentationError(code, "gone")) { _ = try await number(client) }
        }
        #expect(vendor.count == 1)
        #expect(client.answerFigures.refused == 19)
        time.advance(by: .seconds(2))
        vendor.set(.decides)
        #expect(try await number(client) == 2)
    }

    @Test("a failed renewal leaves the old answer, and isn't repeated before its time")
    func failedRenewal() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        time.advance(by: .seconds(11))
        vendor.set(.fails(.transport))
        #expect(try await reason(client) == .stale)
        try await eventually("the failure is known") { client.status == .stale }
        for _ in 0..<20 { #expect(try await number(client) == 1) }
        #expect(vendor.count == 2)
        time.advance(by: .seconds(2))
        #expect(try await number(client) == 1)
        await vendor.untilAsked(3)
    }

    @Test("a vendor that is away isn't asked for every user: a few requests find out, then one at a time is sent")
    func away() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        vendor.set(.fails(.transport))
        for user in 0..<100 {
            await #expect(throws: ExperimentationError.self) { _ = try await number(client, User(id: "u\(user)")) }
        }
        #expect(vendor.count == 1 + VendorPause.most)
        // Users with an answer are served.
        #expect(try await number(client) == 1)
        time.advance(by: .seconds(2))
        for user in 100..<200 {
            await #expect(throws: ExperimentationError.self) { _ = try await number(client, User(id: "u\(user)")) }
        }
        #expect(vendor.count == 2 + VendorPause.most)
        vendor.set(.decides)
        time.advance(by: .seconds(2))
        #expect(try await number(client, User(id: "new")) == vendor.count)
        #expect(try await number(client, User(id: "newer")) == vendor.count)
    }

    @Test("a failure caused by one request doesn't apply to others")
    func own() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        vendor.set(.fails(.configuration))
        for user in 0..<10 {
            await #expect(throws: ExperimentationError.self) { _ = try await number(client, User(id: "u\(user)")) }
        }
        #expect(vendor.count == 10)
    }

    @Test("while the kill switch is on, no user gets an old answer, and the vendor is asked occasionally")
    func disabled() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        vendor.set(.disabled)
        #expect(try await client.decisions(for: User(id: "bob")).keys == [])
        for user in 0..<50 { #expect(try await client.decisions(for: User(id: "u\(user)")).keys == []) }
        #expect(try await client.decisions(for: Self.ada).keys == [])
        #expect(vendor.count == 2)
        #expect(client.status == .disabled)
        vendor.set(.decides)
        time.advance(by: .seconds(2))
        #expect(try await number(client, User(id: "bob")) == 3)
        #expect(client.status == .ready)
    }

    @Test("a denial removes everything of the user, including the request in progress")
    func denial() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor)
        #expect(try await number(client) == 1)
        time.advance(by: .seconds(11))
        let gate = AsyncGate()
        vendor.set(.waits(gate))
        #expect(try await number(client) == 1)
        await vendor.untilAsked(2)
        try await client.setConsent(.denied, for: Self.ada)
        #expect(client.answerFigures.users == 0)
        gate.open()
        try await eventually("the request has ended") { client.core.decisionFlights.callers == 0 }
        #expect(client.answerFigures.users == 0)
    }

    @Test("cached answers stay within the bound, whatever the users and contexts")
    func bounded() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor, bytes: 100_000)
        for number in 0..<3_000 {
            let user = User(id: "u\(number % 700)", attributes: ["n": .int(number % 11)])
            if number % 5 == 0 { vendor.set(.fails(.configuration)) } else { vendor.set(.decides) }
            _ = try? await client.decisions(for: user)
            #expect(client.answerFigures.bytes <= 100_000)
        }
        #expect(client.answerFigures.users > 10)
    }

    @Test("concurrent requests that differ only in consent aren't combined")
    func flights() async throws {
        let vendor = CountingVendor()
        let client = try await client(vendor, nil)
        let gate = AsyncGate()
        vendor.set(.waits(gate))
        var other = Self.ada
        other.consent = .denied
        async let first = number(client)
        async let second = number(client, other)
        await vendor.untilAsked(2)
        gate.open()
        #expect(try await Set([first, second]) == [1, 2])
    }
}
