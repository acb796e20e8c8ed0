import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

@Suite("Monthly cost and growth of traffic")
struct CostTests {
    private func story(
        _ subject: any ConformanceSubject,
        _ scenario: Scenario = .visit,
        _ change: (inout ComparisonRunner) -> Void
    ) async throws -> VendorStory {
        var runner = ComparisonRunner()
        change(&runner)
        return try #require(await runner.run(scenario, with: [subject]).vendors.first)
    }

    @Test("a month consists of each user's first session and averages of the later ones")
    func month() {
        let usage = Usage(monthlyUsers: 1_000, sessions: 4, reads: 1, events: 3)
        let first = MonthlyCost.SessionCost(requests: 5, bytesSent: 500, bytesReceived: 900, events: 4)
        let later = [
            MonthlyCost.SessionCost(requests: 2, bytesSent: 200, bytesReceived: 100, events: 3),
            MonthlyCost.SessionCost(requests: 3, bytesSent: 300, bytesReceived: 100, events: 3),
        ]
        let cost = MonthlyCost(of: usage, first: first, later: later, takesEvents: true)
        #expect([cost.requests, cost.bytesSent, cost.bytesReceived] == [12_500, 1_250_000, 1_200_000])
        #expect(cost.billedEvents == 13_000)
        #expect(cost.firstSession == first)
        #expect(cost.laterSession == .init(requests: 2.5, bytesSent: 250, bytesReceived: 100, events: 3))
        let silent = MonthlyCost(of: usage, first: first, later: [], takesEvents: false)
        #expect(silent.requests == 5_000)
        #expect(silent.billedEvents == nil && silent.laterSession == nil)
    }

    @Test("a month beyond the range of numbers is limited, and doesn't trap")
    func huge() {
        let usage = Usage(monthlyUsers: .max, sessions: .max)
        let session = MonthlyCost.SessionCost(requests: 1e9, bytesSent: 1e12)
        let cost = MonthlyCost(of: usage, first: session, later: [session], takesEvents: true)
        #expect(cost.requests == .max && cost.bytesSent == .max && cost.bytesReceived == 0)
        #expect(Wording.bytes(cost.bytesSent) == "9223372 TB")
    }

    @Test("a vendor that is asked for each user gets one request, each event and each exposure once per session")
    func flagship() async throws {
        let usage = Usage(monthlyUsers: 10, sessions: 3, reads: 12, events: 5)
        let cost = try #require(try await story(FlagshipSubject()) { $0.usage = usage }.monthly)
        let later = try #require(cost.laterSession)
        // Six flags of six campaigns, each read twice, and five events.
        #expect(cost.firstSession.events == 11)
        #expect(later.events == 11)
        #expect(cost.billedEvents == 10 * 3 * 11)
        #expect(cost.requests == 10 * Int(cost.firstSession.requests + 2 * later.requests))
    }

    @Test("a vendor without events has no billed events, and gets a request in each session")
    func sigma() async throws {
        let usage = Usage(monthlyUsers: 7, sessions: 30, reads: 5, events: 10)
        let cost = try #require(try await story(SigmaSubject()) { $0.usage = usage }.monthly)
        #expect(cost.billedEvents == nil)
        #expect(cost.requests == 7 * 30)
    }

    @Test("data that the device keeps and the vendor confirms isn't fetched again")
    func bucketing() async throws {
        let usage = Usage(monthlyUsers: 1, sessions: 3, reads: 0, events: 0)
        let subject = try #require(Vendor.played("flagship-bucketing"))
        let cost = try #require(try await story(subject) { $0.usage = usage }.monthly)
        let later = try #require(cost.laterSession)
        #expect(cost.firstSession.requests == 1 && later.requests == 1)
        #expect(later.bytesReceived < cost.firstSession.bytesReceived / 4)
    }

    @Test("a vendor with one event per request gets as many requests")
    func evergage() async throws {
        let usage = Usage(monthlyUsers: 2, sessions: 2, reads: 5, events: 7)
        let cost = try #require(try await story(EvergageSubject()) { $0.usage = usage }.monthly)
        #expect(cost.requests == 2 * 2 * 7)
        #expect(cost.billedEvents == 2 * 2 * 7)
    }

    @Test("traffic grows with flags and events as on the vendor's wire")
    func growth() async throws {
        let flagship = try #require(try await story(FlagshipSubject()) { $0.measuresGrowth = true }.growth)
        #expect(flagship.flags.map(\.count) == [10, 100, 1_000])
        #expect(flagship.flags.map(\.traffic.requests) == [1, 1, 1])
        let sizes = flagship.flags.map(\.traffic.bytesReceived)
        #expect(sizes[1] > sizes[0] * 5 && sizes[2] > sizes[1] * 5)
        let evergage = try #require(try await story(EvergageSubject()) { $0.measuresGrowth = true }.growth)
        #expect(evergage.flags == [])
        #expect(evergage.events.map(\.traffic.requests) == [10, 100, 1_000])
        let sigma = try #require(try await story(SigmaSubject()) { $0.measuresGrowth = true }.growth)
        #expect(sigma.events == [] && sigma.flags.map(\.traffic.requests) == [1, 1, 1])
    }

    @Test("without the option, growth isn't measured")
    func unasked() async throws {
        let story = try await story(InMemorySubject()) { _ in }
        #expect(story.growth == nil && story.monthly == nil)
    }
}

@Suite("Times of a comparison")
struct TimingTests {
    @Test("fewer than eleven rounds have no times, and fewer than a hundred no 99th percentile")
    func enough() {
        let measured = (1...100).map { Duration.milliseconds($0) }
        #expect(Latency(of: Array(measured.prefix(10))) == nil)
        #expect(Latency(of: Array(measured.prefix(11))) == Latency(p50: 6))
        #expect(Latency(of: Array(measured.prefix(99))) == Latency(p50: 50))
        #expect(Latency(of: measured) == Latency(p50: 50, p99: 99))
    }

    @Test("the simulated round trip is part of the times over the wire, and connecting takes one more")
    func roundTrip() async throws {
        var runner = ComparisonRunner(rounds: 11)
        runner.roundTrip = .milliseconds(20)
        let comparison = await runner.run(.visit, with: [SigmaSubject(), InMemorySubject()])
        #expect(comparison.timing == Timing(rounds: 11, roundTripMilliseconds: 20))
        let sigma = try #require(comparison.story(of: "sigma"))
        let refresh = try #require(sigma.outcome(of: 2))
        #expect(refresh.traffic.requests == 1 && refresh.traffic.roundTrips == 2)
        #expect(try #require(refresh.latency).p50 >= 40)
        #expect(refresh.latency?.p99 == nil)
        // Without a wire there is nothing to compare.
        let inMemory = try #require(comparison.vendors.last)
        #expect(inMemory.outcome(of: 2)?.latency == nil)
        #expect(inMemory.outcome(of: 3)?.latency != nil)
    }

    @Test("a run without times doesn't explain how they were measured")
    func without() async {
        let comparison = await ComparisonRunner(rounds: 2).run(.visit, with: [InMemorySubject()])
        #expect(comparison.timing == nil)
        #expect(comparison.vendors.allSatisfy { $0.outcomes.allSatisfy { $0.latency == nil } })
    }
}

extension Scenario {
    /// A visit without faults.
    fileprivate static let visit = Scenario(
        name: "visit",
        title: "A visit",
        world: .shop,
        steps: [
            Step("Ada comes", .arrive(userID: "ada")), Step("Her decisions are fetched", .refresh),
            Step("She is greeted", .read(flag: "welcome", default: "?")),
        ]
    )
}
