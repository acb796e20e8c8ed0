import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import FlagshipAdapter

/// Records what a listener receives.
final class Heard<Value: Sendable>: Sendable {
    private let state = Mutex<[Value]>([])
    var values: [Value] { state.withLock { $0 } }
    func add(_ value: Value) { state.withLock { $0.append(value) } }
}

extension Bench {
    func flagship(
        _ mode: FlagshipConfiguration.Mode = .decisionAPI,
        environmentID: String = Bench.environmentID,
        store: ClientStore? = nil,
        _ change: (inout FlagshipOptions) -> Void = { _ in }
    ) async -> Flagship {
        var options = FlagshipOptions(mode: mode, device: configuration().device)
        change(&options)
        return await Flagship.start(
            environmentID: environmentID,
            apiKey: Secret(Self.apiKey),
            options: options,
            store: store ?? self.store,
            transport: transport,
            environment: environment
        )
    }

    /// Waits until a condition is true and no request is in flight: the vendor receives a request before the exchange
    /// is recorded.
    func eventually(_ holds: () async throws -> Bool) async rethrows -> Bool {
        let end = ContinuousClock.now + generousLimit
        while ContinuousClock.now < end {
            if try await holds(), transport.isQuiet { return true }
            // A turn alone would keep a core busy that the expected work may need.
            try? await pause(.milliseconds(2))
        }
        return false
    }

    /// Advances time from one waking task to the next until the bucketing file is fetched once more.
    ///
    /// Waiting for a sleeper and advancing once isn't enough: that sleeper may be a time limit which is no longer
    /// needed, while the task that polls goes to sleep only afterwards.
    func nextPoll() async -> Bool {
        let before = transport.exchanges("bucketing").count
        return await eventually {
            if transport.exchanges("bucketing").count > before { return true }
            if transport.isQuiet, let wait = time.untilNextWake, wait <= .seconds(70) { time.advance(by: wait) }
            return false
        }
    }
}

@Suite("Flagship: start and status")
struct StatusTests {
    @Test("F01 with an environment id of 19 characters nothing is started or sent")
    func shortID() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(environmentID: "bkk9glocmjcg0vtmdln")
        #expect(flagship.status == .notInitialized)
        await flagship.newVisitor("ada", hasConsented: true).build().fetchFlags()
        #expect(bench.transport.exchanges.isEmpty)
    }

    @Test(
        "rules that were missing a moment ago hide neither those that a fetch has found since nor the end of a panic",
        arguments: [
            (.notInitialized, false, false, .initializing), (.initializing, false, true, .initialized),
            (.initialized, false, false, .initialized), (.panic, false, false, .initialized),
            (.initialized, true, true, .panic),
        ] as [(FlagshipStatus, Bool, Bool, FlagshipStatus)]
    )
    func following(status: FlagshipStatus, isDisabled: Bool, canDecide: Bool, next: FlagshipStatus) {
        #expect(status.following(isDisabled: isDisabled, canDecide: canDecide) == next)
    }

    @Test("F02 an environment id with a letter beyond v is invalid; the neutral adapter warns and continues")
    func strangeID() async throws {
        let bench = try await Bench()
        let strange = "bkk9glocmjcg0vtmdlnz"
        #expect(await bench.flagship(environmentID: strange).status == .notInitialized)
        _ = try await bench.client { $0.environmentID = strange }
        #expect(bench.log.entries.contains { $0.event == "flagship.environment" && $0.level == .warning })
    }

    @Test("F03 in API mode Flagship is initialized at once, without a request")
    func apiMode() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipStatus>()
        let flagship = await bench.flagship { $0.onStatusChanged = { heard.add($0) } }
        #expect(flagship.status == .initialized)
        #expect(heard.values == [.initialized])
        #expect(bench.transport.exchanges.isEmpty)
    }

    @Test("F04 in bucketing mode without a file it is initializing, and initialized once there is a file")
    func bucketingMode() async throws {
        let bench = try await Bench()
        bench.transport.fail("bucketing", .status(500))
        let heard = Heard<FlagshipStatus>()
        let flagship = await bench.flagship(.bucketing) { $0.onStatusChanged = { heard.add($0) } }
        #expect(await bench.eventually { bench.transport.exchanges("bucketing").count == 1 })
        #expect(flagship.status == .initializing)
        #expect(await bench.nextPoll())
        #expect(await bench.eventually { flagship.status == .initialized })
        #expect(await bench.eventually { heard.values == [.initializing, .initialized] })
    }

    @Test("checking whether there is a file evaluates nothing, so the application's hooks aren't called")
    func evaluatesNothing() async throws {
        let bench = try await Bench()
        bench.transport.fail("bucketing", .status(500))
        let flagship = await bench.flagship(.bucketing)
        #expect(await bench.eventually { bench.transport.exchanges("bucketing").count == 1 })
        let hook = RecordingHook()
        flagship.client?.addHooks(hook)
        #expect(await bench.nextPoll())
        #expect(await bench.eventually { flagship.status == .initialized })
        #expect(hook.calls.map(\.stage) == [])
    }

    @Test("F05 with a stored file it is initialized before any answer")
    func storedFile() async throws {
        let bench = try await Bench()
        let first = await bench.flagship(.bucketing)
        #expect(await bench.eventually { first.status == .initialized })
        await first.newVisitor("ada", hasConsented: true).build().fetchFlags()
        await first.close()
        bench.transport.fail("bucketing", .error(.transport), times: 100)
        let second = await bench.flagship(.bucketing)
        #expect(second.status == .initialized)
        // The date is stored with the file: the next run sends it as If-Modified-Since.
        #expect(await bench.eventually { bench.transport.exchanges("bucketing").count == 2 })
        let dates = bench.transport.exchanges("bucketing").map { $0.request.header("if-modified-since") }
        #expect(dates == [nil, await bench.mock.lastModified])
        let visitor = await second.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        #expect(visitor.flag("cta").value(default: "none") == "new")
    }

    @Test("with a stored file, a fetch decides at once, for a changed context as well, while the CDN doesn't answer")
    func stalledCDN() async throws {
        let bench = try await Bench()
        let first = await bench.flagship(.bucketing)
        await first.newVisitor("ada", hasConsented: true).build().fetchFlags()
        await first.close()
        let gate = AsyncGate()
        defer { gate.open() }
        bench.transport.fail("bucketing", .stalled(gate), times: 100)
        let second = await bench.flagship(.bucketing)
        let visitor = await second.newVisitor("ada", hasConsented: true).build()
        for (city, color) in [("paris", "red"), ("lyon", "gold")] {
            visitor.updateContext("city", .string(city))
            let fetch = Task { await visitor.fetchFlags() }
            try await eventually("flags by the stored file") { visitor.fetchStatus == .fetched }
            await fetch.value
            #expect(visitor.flag("color").value(default: "none") == color)
        }
    }

    @Test("F06 a file with panic starts panic mode, reported once; one without it ends it")
    func panicFile() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipStatus>()
        let flagship = await bench.flagship(.bucketing) { $0.onStatusChanged = { heard.add($0) } }
        #expect(await bench.eventually { flagship.status == .initialized })
        await bench.mock.setPanic(true)
        for _ in 2...3 { #expect(await bench.nextPoll()) }
        #expect(await bench.eventually { flagship.status == .panic })
        await bench.mock.setPanic(false)
        #expect(await bench.nextPoll())
        #expect(await bench.eventually { flagship.status == .initialized })
        // The first file may come before Flagship asks for the status.
        #expect(
            await bench.eventually {
                heard.values.drop { $0 == .initializing } == [.initialized, .panic, .initialized]
            }
        )
    }

    @Test("panic is reported in API mode too, when it begins and when it ends")
    func panicInAPIMode() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipStatus>()
        let flagship = await bench.flagship { $0.onStatusChanged = { heard.add($0) } }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await bench.mock.setPanic(true)
        await visitor.fetchFlags()
        #expect(flagship.status == .panic && visitor.fetchStatus == .panic)
        await bench.mock.setPanic(false)
        await visitor.fetchFlags()
        #expect(await bench.eventually { heard.values == [.initialized, .panic, .initialized] })
        #expect(visitor.flag("cta").value(default: "none") == "new")
    }

    @Test("F07 two identical statuses call the listener once")
    func identicalStatuses() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipStatus>()
        // Without an environment nothing is started that could change the status meanwhile.
        let flagship = await bench.flagship(environmentID: "") { $0.onStatusChanged = { heard.add($0) } }
        for status in [FlagshipStatus.initialized, .initialized, .panic, .panic, .initialized] {
            flagship.set { _ in status }
        }
        #expect(heard.values == [.initialized, .panic, .initialized])
    }

    @Test("an announcement caused by a listener comes after the current one")
    func announcer() {
        let heard = Heard<Int>()
        let announcements = Announcements<Int>()
        func announce(_ value: Int) {
            if value == 1 {
                announcements.add(2)
                announcements.make(announce)
            }
            heard.add(value)
        }
        for value in [1, 3] {
            announcements.add(value)
            announcements.make(announce)
        }
        #expect(heard.values == [1, 2, 3])
    }

    @Test("F40 with an interval of zero the file is requested once")
    func pollsOnce() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(.bucketing) { $0.pollingInterval = .zero }
        #expect(await bench.eventually { flagship.status == .initialized })
        bench.time.advance(by: .seconds(3_600))
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        for _ in 0..<3 { await visitor.fetchFlags() }
        #expect(bench.transport.exchanges("bucketing").count == 1)
        #expect(visitor.fetchStatus == .fetched)
    }

    @Test(
        "a fleet's polls are spread over a tenth of the interval to either side",
        arguments: [(0.0, 54), (0.5, 60), (1, 66)]
    )
    func spread(chance: Double, seconds: Int) async throws {
        let bench = try await Bench()
        let flagship = await Flagship.start(
            environmentID: Bench.environmentID,
            apiKey: Secret(Bench.apiKey),
            options: FlagshipOptions(mode: .bucketing),
            store: .inMemory(),
            transport: bench.transport,
            environment: ClientEnvironment(time: bench.time, jitter: { chance }, log: bench.log)
        )
        #expect(await bench.eventually { flagship.status == .initialized })
        await bench.time.waitForSleepers(1)
        let wait = try #require(bench.time.untilNextWake)
        #expect(abs(wait / .milliseconds(1) - Double(seconds) * 1_000) < 1)
        await flagship.close(within: .zero)
    }

    @Test("F41 a new file changes flags only at the next fetch")
    func newFile() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(.bucketing)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        #expect(visitor.flag("size").value(default: 0) == 7)
        try await bench.mock.load(.init(Bench.file.replacing(#""size":7"#, with: #""size":8"#).utf8))
        #expect(await bench.nextPoll())
        #expect(visitor.flag("size").value(default: 0) == 7)
        #expect(
            await bench.eventually {
                await visitor.fetchFlags()
                return visitor.flag("size").value(default: 0) == 8
            }
        )
    }

    @Test("F42 polling continues after a failure, with the status initializing; a fetch without a file is an error")
    func pollingGoesOn() async throws {
        let bench = try await Bench()
        bench.transport.fail("bucketing", .error(.transport), times: 4)
        let flagship = await bench.flagship(.bucketing)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .fetchError)
        #expect(flagship.status == .initializing)
        for _ in 0..<5 { #expect(await bench.nextPoll()) }
        #expect(await bench.eventually { flagship.status == .initialized })
        await visitor.fetchFlags()
        #expect(visitor.fetchStatus == .fetched)
    }
}
