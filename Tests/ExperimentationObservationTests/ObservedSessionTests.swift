import Experimentation
import ExperimentationTesting
import Observation
import Synchronization
import Testing
import Waiting

@testable import ExperimentationObservation

@Suite("A session is observed")
@MainActor
struct ObservedSessionTests {
    private enum Flags {
        static let color = FlagKey("color", default: "plain")
        static let size = FlagKey("size", default: 1)
        static let theme = FlagKey("theme", default: Theme(dark: false))
    }
    private struct Theme: Codable, Sendable, Equatable { var dark: Bool }

    /// Counts changes of values that were read, which make SwiftUI redraw a view.
    private final class Drawings: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }

        @MainActor
        func draw(_ body: @escaping @MainActor @Sendable () -> Void) {
            withObservationTracking {
                body()
            } onChange: {
                self.count.withLock { $0 += 1 }
                Task { @MainActor in self.draw(body) }
            }
        }
    }

    private func provider(color: String, size: Int) -> [InMemoryFlag] {
        [
            InMemoryFlag("color", .string(color)), InMemoryFlag("size", .int(size)),
            InMemoryFlag("theme", ["dark": true]),
        ]
    }

    @Test("a reader of a flag is notified when its value changes, and only then")
    func changes() async throws {
        let provider = InMemoryProvider(flags: provider(color: "red", size: 1))
        let session = try await ExperimentationClient(provider: provider).session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        let (colors, sizes) = (Drawings(), Drawings())
        colors.draw { _ = observed[Flags.color] }
        sizes.draw { _ = observed[Flags.size] }
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        #expect(observed[Flags.color] == "red" && observed[Flags.theme] == Theme(dark: true))

        // Values may also change between the first drawing and `follow()`.
        provider.replace(flags: self.provider(color: "blue", size: 1))
        try await session.refresh(force: true)
        try await eventually("another drawing of the colour") { colors.value == 1 }
        #expect(observed[Flags.color] == "blue" && sizes.value == 0)

        provider.replace(flags: self.provider(color: "blue", size: 2))
        try await session.refresh(force: true)
        try await eventually("another drawing of the size") { sizes.value == 1 }
        #expect(observed[Flags.size] == 2 && colors.value == 1)

        try await session.refresh(force: true)
        await mainActorTurn()
        #expect(colors.value == 1 && sizes.value == 1)
    }

    @Test("changes between the first read and follow() are reported")
    func missed() async throws {
        let provider = InMemoryProvider(flags: provider(color: "red", size: 1))
        let session = try await ExperimentationClient(provider: provider).session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        let (colors, sizes) = (Drawings(), Drawings())
        colors.draw { _ = observed[Flags.color] }
        sizes.draw { _ = observed[Flags.size] }
        provider.replace(flags: self.provider(color: "blue", size: 1))
        try await session.refresh(force: true)
        #expect(colors.value == 0)
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        try await eventually("another drawing of the colour") { colors.value == 1 }
        #expect(sizes.value == 0)
    }

    @Test("overrides that change between the first read and follow() are reported")
    func overridden() async throws {
        let provider = InMemoryProvider(flags: provider(color: "red", size: 1))
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        client.overrideFlag("size", with: 5)
        let observed = ObservedSession(session)
        let (colors, sizes) = (Drawings(), Drawings())
        colors.draw { _ = observed[Flags.color] }
        sizes.draw { _ = observed[Flags.size] }
        client.overrideFlag("color", with: "green")
        // The vendor's own value of an overridden flag reaches no reader.
        provider.replace(flags: self.provider(color: "red", size: 2))
        try await session.refresh(force: true)
        let following = Task { await observed.follow() }
        try await eventually("another drawing of the colour") { colors.value == 1 }
        #expect(observed[Flags.color] == "green" && observed[Flags.size] == 5 && sizes.value == 0)
        following.cancel()
        await following.value

        client.removeFlagOverrides()
        let again = Task { await observed.follow() }
        defer { again.cancel() }
        try await eventually("both are drawn again") { colors.value == 2 && sizes.value == 1 }
        #expect(observed[Flags.color] == "red" && observed[Flags.size] == 2)
    }

    @Test("a reader of the earlier value is notified although another one has read the new value")
    func twoReaders() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider(flags: provider(color: "red", size: 1)))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        let (earlier, later) = (Drawings(), Drawings())
        earlier.draw { _ = observed[Flags.color] }
        client.overrideFlag("color", with: "green")
        later.draw { _ = observed[Flags.color] }
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        try await eventually("another drawing") { earlier.value == 1 }
    }

    @Test("a value that was first read after its change isn't reported again")
    func firstRead() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider(flags: provider(color: "red", size: 1)))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        let sizes = Drawings()
        sizes.draw { _ = observed[Flags.size] }
        // Every change of the size is reported once `follow()` listens.
        var size = 1
        try await eventually("following") {
            size += 1
            client.overrideFlag("size", with: size)
            return sizes.value > 0
        }
        client.overrideFlag("color", with: "green")
        let colors = Drawings()
        colors.draw { _ = observed[Flags.color] }
        let before = sizes.value
        client.overrideFlag("size", with: size + 1)
        try await eventually("the change after it") { sizes.value > before }
        #expect(colors.value == 0)
    }

    /// Does something once, before a flag is read.
    private final class Meddler: Hook {
        private struct Plan { var action: (@Sendable () -> Void)? }
        private let plan = Mutex(Plan())

        func meddle(_ action: @escaping @Sendable () -> Void) { plan.withLock { $0.action = action } }

        func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes? {
            let due = plan.withLock { plan in
                defer { plan.action = nil }
                return plan.action
            }
            due?()
            return nil
        }
    }

    @Test("a reader of a value that applied only briefly is notified when the former value is back")
    func changedWhileRead() async throws {
        let meddler = Meddler()
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(flags: provider(color: "red", size: 1)),
            options: ClientOptions(hooks: [meddler])
        )
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        let colors = Drawings()
        let shown = Mutex("")
        meddler.meddle { client.overrideFlag("color", with: "green") }
        colors.draw { shown.withLock { $0 = observed[Flags.color] } }
        #expect(shown.withLock { $0 } == "green")
        client.overrideFlag("color", with: nil)
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        try await eventually("another drawing") { shown.withLock { $0 } == "red" }
    }

    @Test("the default read from overdue decisions is replaced once they are renewed, even if their value is the same")
    func overdue() async throws {
        let time = ManualTime()
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(
                flags: provider(color: "red", size: 1),
                freshness: Freshness(lifetime: .seconds(10), afterExpiry: .notReady)
            ),
            environment: ClientEnvironment(time: time)
        )
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        time.advance(by: .seconds(11))
        let colors = Drawings()
        colors.draw { _ = observed[Flags.color] }
        #expect(observed[Flags.color] == "plain")
        try await session.refresh()
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        try await eventually("another drawing") { colors.value == 1 }
        #expect(observed[Flags.color] == "red")
    }

    @Test("a view is redrawn as decisions expire that aren't used any longer", .timeLimit(.minutes(1)))
    func expiring() async throws {
        let time = ManualTime()
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(
                flags: provider(color: "red", size: 1),
                freshness: Freshness(lifetime: .seconds(10), afterExpiry: .notReady)
            ),
            environment: ClientEnvironment(time: time)
        )
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        let shown = Mutex("")
        Drawings().draw { shown.withLock { $0 = observed[Flags.color] } }
        #expect(shown.withLock { $0 } == "red")
        await time.waitForSleepers(1)
        time.advance(by: .seconds(11))
        try await eventually("another drawing") { shown.withLock { $0 } == "plain" }
    }

    @Test("of two flags whose keys are canonically equivalent, only the one that was read is observed")
    func equivalentKeys() async throws {
        let (unread, read) = ("e\u{301}", "\u{e9}")
        let provider = InMemoryProvider(flags: [InMemoryFlag(unread, "blue"), InMemoryFlag(read, "red")])
        let session = try await ExperimentationClient(provider: provider).session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        let shown = Mutex("")
        Drawings().draw { shown.withLock { $0 = observed[FlagKey(read, default: "plain")] } }
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        // The other one now has the value that this one had.
        provider.replace(flags: [InMemoryFlag(unread, "red"), InMemoryFlag(read, "green")])
        try await session.refresh(force: true)
        try await eventually("another drawing") { shown.withLock { $0 } == "green" }
    }

    @Test("a flag that changes often without a follower takes no more memory")
    func unfollowed() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider(flags: provider(color: "red", size: 1)))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let observed = ObservedSession(session)
        let sizes = Drawings()
        sizes.draw { _ = observed[Flags.size] }
        for size in 2...100 {
            client.overrideFlag("size", with: size)
            #expect(observed[Flags.size] == size)
        }
        #expect(observed.seen[ExactText("size")]?.count == 2)
        let following = Task { await observed.follow() }
        defer { following.cancel() }
        try await eventually("another drawing") { sizes.value == 1 }
    }

    @Test("neither following nor a vendor that hangs blocks the main actor")
    func mainActorIsFree() async throws {
        let gate = AsyncGate()
        let provider = HangingProvider(gate: gate)
        let session = try await ExperimentationClient(provider: provider).session(for: User(id: "ada"))
        let observed = ObservedSession(session)
        let following = Task { await observed.follow() }
        let refreshing = Task { try await session.refresh() }
        try await eventually("a question to the vendor") { gate.waiting == 1 }
        // Runs on the main actor before the vendor answers.
        #expect(observed[Flags.color] == "plain")
        let drawings = Drawings()
        drawings.draw { _ = observed[Flags.color] }
        gate.open()
        try await refreshing.value
        try await eventually("another drawing") { drawings.value == 1 }
        #expect(observed[Flags.color] == "red")
        following.cancel()
        await following.value
    }

    /// A vendor that answers when a test allows it.
    private struct HangingProvider: ExperimentationProvider, DecisionSource {
        let gate: AsyncGate
        let name = "hanging"
        let scope = ""
        let capabilities: Set<Capability> = [.flags]
        let freshness = Freshness()

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            ProviderRoles(decisions: .asked(self))
        }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            await gate.wait()
            return .decided(Decisions(flags: [(key: "color", resolution: Resolution("red", reason: .static))]))
        }
    }

    @Test("fixed values read like a session's, and can be changed one by one")
    func fixed() async {
        let observed = ObservedSession(fixed: ["color": "green", "size": "big", "theme": ["dark": true]])
        #expect(observed[Flags.color] == "green" && observed[Flags.size] == 1)
        #expect(observed[Flags.theme] == Theme(dark: true))
        let (colors, sizes) = (Drawings(), Drawings())
        colors.draw { _ = observed[Flags.color] }
        sizes.draw { _ = observed[Flags.size] }
        observed.set("color", to: "green")
        #expect(colors.value == 0)
        observed.set("color", to: "red")
        #expect(colors.value == 1 && sizes.value == 0 && observed[Flags.color] == "red")
        // Returns at once, because fixed values have no changes to follow.
        await observed.follow()
    }

    @Test("fixed values of another type, or null, read as the default, like a session's")
    func fixedOfAnotherType() async throws {
        let values: [String: FlagValue] = ["color": "green", "size": [1, 2], "theme": ["dark": true], "none": .null]
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(flags: values.map { InMemoryFlag($0.key, $0.value) })
        )
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        for observed in [ObservedSession(session), ObservedSession(fixed: values)] {
            let read = ["color", "size", "theme", "none"].map { observed[FlagKey($0, default: FlagValue.object([:]))] }
            #expect(read == [[:], [1, 2], ["dark": true], [:]])
            #expect(observed[FlagKey("none", default: String?.some("plain"))] == "plain")
            #expect(observed[FlagKey("color", default: String?.some("plain"))] == "green")
        }
    }

    private func mainActorTurn() async { for _ in 0..<10 { await Task.yield() } }
}
