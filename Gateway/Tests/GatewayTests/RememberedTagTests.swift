import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Foundation
import GatewayBodies
import GatewayWaiting
import HTTPTypes
import NIOCore
import NIOHTTP1
import Testing

@testable import GatewayServer

@Suite("Tags that are remembered")
struct RememberedTagTests {
    private static let path = "/ofrep/v1/evaluate/flags"

    /// How many steps the model takes: all of them in a soak run.
    private static let steps = isSoak ? 1_000_000 : 20_000

    /// A gateway that is asked without a network, and a second evaluator over the same connection that remembers nothing.
    private struct Bench {
        let time = ManualTime()
        let gateway: Gateway
        let plain: Evaluator

        var tenant: Tenant { gateway.responder.tenants.tenants[0] }
        var client: ExperimentationClient { tenant.connection.client }

        init(_ provider: any ExperimentationProvider) async throws {
            gateway = try await Gateway(
                GatewayConfiguration(tenants: [Served.tenant()]),
                environment: ClientEnvironment(time: time)
            ) { _ in provider }
            let tenant = gateway.responder.tenants.tenants[0]
            plain = Tenant(tenant.configuration, over: tenant.connection, now: time.instant).evaluator
            // The rules that are fetched at the start, besides the requests, are there.
            try await eventually("the tenant is ready") { tenant.isReady }
        }

        /// Asks as a client does that holds this tag.
        func ask(_ body: String, _ tag: String?) async throws -> (status: Int, tag: String, isAtOnce: Bool) {
            var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: RememberedTagTests.path)
            head.headers.add(name: "Authorization", value: "Bearer t0ken")
            if let tag { head.headers.add(name: "If-None-Match", value: tag) }
            var token = LastToken()
            if let answer = gateway.responder.evaluateAtOnce(head, ByteBuffer(string: body), &token) {
                return (Int(answer.head.status.code), answer.head.headers.first(name: "etag") ?? "", true)
            }
            let request = try EvaluationRequest(body: Array(body.utf8), consent: .unknown)
            let answer = await tenant.evaluator.evaluateAll(request.user, ifNoneMatch: tag)
            return (answer.status.code, answer.fields[.eTag] ?? "", false)
        }

        /// The tag of the answer that the user should get now.
        func right(_ body: String) async throws -> String {
            let request = try EvaluationRequest(body: Array(body.utf8), consent: .unknown)
            return await plain.evaluateAll(request.user, ifNoneMatch: nil).fields[.eTag] ?? ""
        }
    }

    /// A small random source with the same numbers in each run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 33
        }
    }

    private static let bodies = (0..<6).flatMap { user in
        [
            #"{"context":{"targetingKey":"u\#(user)"}}"#, #"{"context":{"targetingKey":"u\#(user)","consent":true}}"#,
            #"{"context": {"targetingKey":"u\#(user)","consent":false}}"#,
            #"{"context":{"targetingKey":"u\#(user)","region":"eu"}}"#,
        ]
    }

    @Test(
        "no 304 is wrong and no 200 is needless while rules, campaigns, the clock, assignments and switches change",
        arguments: [true, false]
    )
    func model(saysWhen: Bool) async throws {
        let vendor = ChangingVendor(saysWhen: saysWhen, isRenewed: false)
        let bench = try await Bench(vendor)
        var numbers = Numbers(state: 11)
        var held: [String: String] = [:]
        var (wrong, needless, unchanged, atOnce) = (0, 0, 0, 0)
        for step in 0..<Self.steps / (saysWhen ? 1 : 4) {
            await Self.happen(Int.random(in: 0..<60, using: &numbers), vendor, bench, &numbers)
            guard let body = Self.bodies.randomElement(using: &numbers) else { continue }
            let tag = held[body]
            let answer = try await bench.ask(body, tag)
            let right = try await bench.right(body)
            if answer.status == 304 {
                unchanged += 1
                if answer.isAtOnce { atOnce += 1 }
                if tag != right { wrong += 1 }
            } else {
                if tag == right, answer.tag == right { needless += 1 }
                if answer.tag != right { wrong += 1 }
                held[body] = answer.tag
            }
            #expect(wrong == 0 && needless == 0, "step \(step)")
            if wrong + needless > 0 { break }
        }
        #expect(unchanged > Self.steps / 50)
        #expect(atOnce > Self.steps / 50)
        #expect((bench.tenant.evaluator.remembered.count > 0) == saysWhen)
        await bench.tenant.connection.close()
    }

    /// One thing that may happen between two questions.
    private static func happen(_ what: Int, _ vendor: ChangingVendor, _ bench: Bench, _ numbers: inout Numbers) async {
        let number = Int.random(in: 0..<6, using: &numbers)
        let (client, book) = (bench.client, bench.tenant.connection.assignments)
        switch what {
        case 0: vendor.change { $0.value = number }
        case 1:
            let start = bench.time.now.addingTimeInterval(Double(number * 3))
            vendor.change { $0.campaign = DateInterval(start: start, duration: Double(1 + number) * 4) }
        case 2: vendor.change { $0.allocation = number * 20 }
        case 3: vendor.change { $0.isDisabled = number == 0 }
        case 4: vendor.change { $0.fails = number < 2 }
        case 5: try? await client.refresh(force: true)
        case 6: client.attributes = number < 3 ? [:] : ["region": number == 3 ? "eu" : "us"]
        case 7: try? await client.force(.include(experiment: "button", variation: number < 3 ? "a" : "b"))
        case 8: await client.removeOverrides()
        case 9: try? await book.forget("u\(number)")
        case 10:
            // As another instance would; this one learns of it when its own memory of the user expires.
            let other = AssignmentRecord(userID: "u\(number)", assignments: ["button": number < 3 ? "a" : "b"])
            _ = try? await book.write(other)
        case 11...16: bench.time.advance(by: .milliseconds(700 * (1 + number)))
        default: break
        }
    }

    @Test("a request with the same bytes is answered from memory, and one with other bytes isn't")
    func bytes() async throws {
        let bench = try await Bench(ChangingVendor(isRenewed: false))
        let body = #"{"context":{"targetingKey":"ada"}}"#
        let first = try await bench.ask(body, nil)
        let tag = try await bench.ask(body, nil).tag
        #expect(first.tag == tag)
        let evaluator = bench.tenant.evaluator
        #expect(evaluator.unchangedAtOnce(ByteBuffer(string: body), ifNoneMatch: tag)?.status == .notModified)
        for field in ["W/\(tag)", "\"x\", \(tag)", String(tag.dropFirst().dropLast())] {
            #expect(evaluator.unchangedAtOnce(ByteBuffer(string: body), ifNoneMatch: field)?.tag == tag, "\(field)")
        }
        for field in ["*", "\"x\"", ""] {
            #expect(evaluator.unchangedAtOnce(ByteBuffer(string: body), ifNoneMatch: field) == nil, "\(field)")
        }
        #expect(evaluator.unchangedAtOnce(ByteBuffer(string: body + " "), ifNoneMatch: tag) == nil)
        await bench.tenant.connection.close()
    }

    @Test("memory is bounded, and recently used entries stay")
    func bounded() async throws {
        let bench = try await Bench(ChangingVendor(isRenewed: false))
        _ = try await bench.ask(#"{"context":{"targetingKey":"u"}}"#, nil)
        let basis = try #require(bench.client.basisAtOnce())
        let forms = try #require(bench.tenant.evaluator.knownForms)
        let tags = RememberedTags(bytes: 100_000)
        let entry = RememberedTags.Entry(tag: "\"t\"", basis: basis, forms: forms, userID: nil, earlier: [:])
        let first = ByteBuffer(string: "first")
        tags.remember(entry, of: first)
        for number in 0..<10_000 {
            tags.remember(entry, of: ByteBuffer(string: "body \(number)"))
            #expect(tags[first]?.tag == "\"t\"", "\(number)")
            #expect(tags.count <= 100_000 / 400)
        }
        tags.remember(entry, of: ByteBuffer(repeating: 0, count: 60_000))
        #expect(tags[ByteBuffer(repeating: 0, count: 60_000)] == nil)
        await bench.tenant.connection.close()
    }

    @Test("in a move nothing is remembered, so answers follow its stage")
    func move() async throws {
        let old = ChangingVendor(Self.world(1))
        // The second look of a comparison would fetch rules in addition to the requests.
        var plan = MigrationPlan()
        plan.shadow.moment = .seconds(3_600)
        let provider = MigratingProvider(from: old, to: ChangingVendor(Self.world(2), named: "other"), plan: plan)
        let bench = try await Bench(provider)
        let body = #"{"context":{"targetingKey":"ada","consent":true}}"#
        var tags: [String] = []
        for stage in [MigrationStage.off, .dualWrite, .shadow] {
            try await bench.tenant.connection.migration?.move(to: stage)
            for value in 0..<3 {
                old.change { $0.value = 10 * value + tags.count }
                // Beyond the minute in which an older answer is returned while a newer one is fetched.
                bench.time.advance(by: .seconds(71))
                let answer = try await bench.ask(body, tags.last)
                #expect(!answer.isAtOnce)
                let right = try await bench.right(body)
                #expect(answer.tag == right)
                tags.append(answer.tag)
            }
        }
        #expect(Set(tags).count > 1)
        #expect(bench.tenant.evaluator.remembered.count == 0)
        await bench.tenant.connection.close()
    }

    private static func world(_ value: Int) -> ChangingVendor.World {
        var world = ChangingVendor.World()
        world.value = value
        return world
    }
}
