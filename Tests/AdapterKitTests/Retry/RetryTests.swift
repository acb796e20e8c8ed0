import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Retry-After")
struct RetryAfterTests {
    /// Sunday, 6 November 1994, 08:49:37 GMT.
    private let now = Date(timeIntervalSince1970: 784_111_777)

    @Test(
        "P12 every form is obeyed, limited or ignored",
        arguments: [
            ("0", Duration.zero), ("1", .seconds(1)), ("120", .seconds(120)), ("300", .seconds(300)),
            ("301", .seconds(300)),
            ("1000000000", .seconds(300)), ("99999999999999999999999", .seconds(300)), ("0000000005", .seconds(5)),
            (" 7 ", .seconds(7)),
            ("1.5", .milliseconds(1500)), ("0.0001", .zero), ("2.", nil), (".5", nil), ("-1", nil), ("-0", nil),
            ("+5", nil), ("1e9", nil),
            ("0x10", nil), ("soon", nil), ("", nil), (" ", nil), ("1,2", nil), ("1;2", nil), ("NaN", nil), ("١", nil),
            ("1 2", nil),
            ("Sun, 06 Nov 1994 08:49:47 GMT", .seconds(10)), ("Sun, 06 Nov 1994 08:49:27 GMT", .zero),
            ("Sun, 06 Nov 1994 08:49:37 GMT", .zero),
            ("Sunday, 06-Nov-94 08:49:47 GMT", .seconds(10)), ("Sun Nov  6 08:49:47 1994", .seconds(10)),
            ("Sat, 21 Nov 2026 10:00:00 GMT", .seconds(300)),
            ("Sun, 06 Nov 1994 08:49:47 PST", nil), ("Sun, 31 Feb 1994 08:49:47 GMT", nil),
            ("Sun, 06 Nov 1994 25:49:47 GMT", nil),
            ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(300)), ("Thu, 01 Jan 0000 00:00:00 GMT", .zero),
        ] as [(String, Duration?)]
    )
    func forms(text: String, wait: Duration?) { #expect(RetryAfter.parse(text, now: now) == wait) }

    @Test("P12 of two header fields the longer wait counts, and an invalid one is ignored")
    func several() {
        var fields = HTTPFields()
        for value in ["5", "nonsense", "20", "3"] { fields.append(HTTPField(name: .retryAfter, value: value)) }
        #expect(RetryAfter.wait(in: fields, now: now) == .seconds(20))
        #expect(RetryAfter.wait(in: [:], now: now) == nil)
    }
}

@Suite("HTTP dates")
struct HTTPDateTests {
    @Test(
        "are written and read back",
        arguments: [-62_135_596_800, -1, 0, 951_782_400, 784_111_777, 1_795_255_200, 4_107_542_399, 253_402_300_799]
    )
    func roundTrip(seconds: Int) {
        let date = Date(timeIntervalSince1970: Double(seconds))
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        if seconds > 0 { #expect(HTTPDate.format(date) == formatter.string(from: date)) }
        #expect(seconds < -60_000_000_000 || HTTPDate.parse(HTTPDate.format(date)) == date)
    }

    @Test("each day of four centuries matches the calendar")
    func days() {
        var date = Date(timeIntervalSince1970: -62_135_596_800 + 86_400.0 * 365 * 1599)
        for _ in 0..<2000 {
            #expect(HTTPDate.parse(HTTPDate.format(date)) == date)
            date += 86_400 * 73
        }
    }

    @Test("dates beyond the calendar don't trap", arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300, 1e17])
    func extremes(seconds: Double) { #expect(HTTPDate.format(Date(timeIntervalSince1970: seconds)).hasSuffix("GMT")) }
}

@Suite("Backoff")
struct BackoffTests {
    @Test("doubles up to its limit, and is drawn from zero to it")
    func delays() {
        let backoff = Backoff(first: .seconds(1), longest: .seconds(10))
        #expect(
            [1, 2, 3, 4, 5, 60, .max].map { backoff.delay(before: $0, jitter: 1) }
                == [1, 2, 4, 8, 10, 10, 10].map { .seconds($0) }
        )
        #expect([0, -5].map { backoff.delay(before: $0, jitter: 0.5) } == [.milliseconds(500), .milliseconds(500)])
        #expect(backoff.delay(before: 3, jitter: 0) == .zero)
        #expect(backoff.delay(before: 3, jitter: 0.25) == .seconds(1))
    }

    @Test("P57 no jitter and no setting traps", arguments: [Double.nan, .infinity, -1, 2, 1e308])
    func extremes(jitter: Double) {
        for backoff in [
            Backoff(), Backoff(first: .zero, longest: .zero), Backoff(first: .seconds(-5), longest: .seconds(1)),
            Backoff(first: .seconds(1e12)), Backoff(first: .seconds(1e12), longest: .seconds(1e20)),
            Backoff(first: .seconds(1.7e20), longest: .seconds(1.7e20)), Backoff(first: .seconds(-1.7e20)),
        ] {
            for retry in [1, 3, 31, .max] {
                let delay = backoff.delay(before: retry, jitter: jitter)
                #expect(delay >= .zero && delay <= max(.zero, backoff.longest))
            }
        }
    }
}

@Suite("Numbers from the wire")
struct ClampingTests {
    static let extremes: [Double] = [
        0, -0.0, 1, -1, 0.5, 1e308, -1e308, .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
        9.223372036854775807e18,
        -9.223372036854775808e18, 9_007_199_254_740_992, 1e18, 1e19, 299.9999, 300, 300.0001, 2147483648, 4294967296,
        86_400,
        3.6e6, .pi,
        .ulpOfOne, -.leastNonzeroMagnitude, 1e-300, 1e100, -1e100, .greatestFiniteMagnitude,
    ]

    @Test("P57 no number traps, and all results are in range", arguments: extremes)
    func clamps(number: Double) {
        let range = Duration.seconds(1)...(.seconds(300))
        #expect(range.contains(Duration(clampingSeconds: number, to: range)))
        #expect((-5...300).contains(Int(clamping: number, to: -5...300)))
        #expect((Int.min...Int.max).contains(Int(clamping: number, to: Int.min...Int.max)))
    }

    @Test("a number in range is unchanged")
    func keeps() {
        #expect(Duration(clampingSeconds: 2.5, to: .zero...(.seconds(300))) == .milliseconds(2500))
        #expect(Int(clamping: 42.9, to: 0...100) == 42)
        #expect(Int(clamping: -1.5, to: -5...5) == -1)
    }
}

@Suite("Delivery verdicts")
struct DeliveryVerdictTests {
    @Test("P10 every status from 100 to 599 has its verdict, and so do others")
    func statuses() {
        for status in -1...1000 {
            let verdict = DeliveryVerdict.of(status: status, after: .seconds(3))
            switch status {
            case 200...299: #expect(verdict == .delivered)
            case 413: #expect(verdict == .split("the vendor answered 413"))
            case 401, 403:
                #expect(verdict == .stop(ExperimentationError(.unauthorized, "the vendor answered \(status)")))
            case 407, 408, 425, 429: #expect(verdict == .outage(after: .seconds(3), because: .patience))
            case 400...499: #expect(verdict == .failed("the vendor answered \(status)"))
            default: #expect(verdict == .outage(after: .seconds(3), because: .patience))
            }
        }
    }

    @Test(
        "P10 every transport error has its verdict",
        arguments: [
            (ErrorCode.transport, "can't be reached"), (.timeout, "no answer in time"), (.cancelled, "interrupted"),
            (.tooLarge, "an answer that is too large"), (.shutDown, "interrupted"),
            (.disabled, "switched off by the vendor"), (.providerNotReady, "no answer"),
            (.configuration, "stop"), (.unauthorized, "stop"), (.providerFatal, "stop"), (.unsupported, "rejected"),
            (.invalidArgument, "failed"),
            (.parseError, "failed"), (.vendorFault, "failed"), (ErrorCode(rawValue: "NEW"), "failed"),
        ]
    )
    func errors(code: ErrorCode, kind: String) {
        let error = ExperimentationError(code, "why")
        let expected: Verdict =
            switch kind {
            case "stop": .stop(error)
            case "rejected": .rejected("why")
            case "failed": .failed("why")
            default: .outage(because: OutageReason(rawValue: kind))
            }
        #expect(DeliveryVerdict.of(error) == expected)
    }

    @Test(
        "the reason for an outage is reported: a requested wait, or the status",
        arguments: [
            (429, nil, .patience), (429, .seconds(1), .patience), (503, .seconds(1), .patience),
            (503, nil, .answered(503)), (408, nil, .answered(408)), (302, nil, .answered(302)),
        ] as [(Int, Duration?, OutageReason)]
    )
    func reasons(status: Int, after: Duration?, reason: OutageReason) {
        #expect(DeliveryVerdict.of(status: status, after: after) == .outage(after: after, because: reason))
        let error = ExperimentationError(.transport, "why", cause: RefusingStatus(status, after: after))
        #expect(DeliveryVerdict.of(error) == .outage(because: reason))
    }

    @Test("an answer's Retry-After becomes part of the verdict")
    func retryAfter() {
        let reply = HTTPReply(response: HTTPResponse(status: .init(code: 503), headerFields: [.retryAfter: "9"]))
        #expect(
            DeliveryVerdict.of(reply, now: Date(timeIntervalSince1970: 0))
                == .outage(after: .seconds(9), because: .patience)
        )
    }
}

@Suite("A client that retries")
struct HTTPClientTests {
    private let time = ManualTime()
    private let request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/a")

    private func client(_ transport: ScriptedTransport, _ retry: HTTPRetry = HTTPRetry(attempts: 3), jitter: Double = 1)
        -> HTTPClient
    {
        HTTPClient(transport: transport, retry: retry, environment: ClientEnvironment(time: time, jitter: { jitter }))
    }

    @Test("tries again after an outage, with the backoff's wait")
    func retries() async throws {
        let transport = ScriptedTransport([
            .status(503), .failure(ExperimentationError(.transport, "gone")), .json("{}"),
        ])
        let client = client(transport)
        async let reply = client.send(request, limits: HTTPLimits(deadline: .seconds(60)))
        await time.waitForSleepers(1)
        #expect(transport.requests.count == 1)
        time.advance(by: .milliseconds(499))
        #expect(transport.requests.count == 1)
        time.advance(by: .milliseconds(1))
        await transport.waitForRequests(2)
        await time.waitForSleepers(1)
        time.advance(by: .seconds(1))
        #expect(try await reply.status == 200)
        let spent = transport.requests.map(\.limits.deadline)
        #expect(spent == [.seconds(60), .milliseconds(59_500), .milliseconds(58_500)])
    }

    @Test("P12 waits at least as long as the server asks")
    func retryAfter() async throws {
        let transport = ScriptedTransport([.status(429, headers: [.retryAfter: "30"]), .status(200)])
        let client = client(transport, jitter: 0)
        async let reply = client.send(request)
        await time.waitForSleepers(1)
        time.advance(by: .milliseconds(29_999))
        #expect(transport.requests.count == 1)
        time.advance(by: .milliseconds(1))
        #expect(try await reply.status == 200)
    }

    @Test("P35 begins no attempt whose wait would pass the deadline")
    func deadline() async throws {
        let transport = ScriptedTransport([.status(503, headers: [.retryAfter: "61"]), .status(200)])
        #expect(try await client(transport).send(request, limits: HTTPLimits(deadline: .seconds(60))).status == 503)
        #expect(transport.requests.count == 1)
    }

    @Test("gives each attempt its own limit, within the deadline")
    func attemptLimit() async throws {
        let transport = ScriptedTransport([.status(200), .status(200)])
        let retry = HTTPRetry(attempts: 2, attemptLimit: .seconds(2))
        _ = try await client(transport, retry).send(request, limits: HTTPLimits(deadline: .seconds(60)))
        _ = try await client(transport, retry).send(request, limits: HTTPLimits(deadline: .seconds(1)))
        #expect(transport.requests.map(\.limits.deadline) == [.seconds(2), .seconds(1)])
    }

    @Test("returns the last answer after the last attempt")
    func exhausted() async throws {
        let transport = ScriptedTransport([.status(500), .status(502), .status(503), .status(200)])
        let client = client(transport, jitter: 0)
        #expect(try await client.send(request).status == 503)
        #expect(transport.requests.count == 3)
    }

    @Test(
        "doesn't retry what can't succeed",
        arguments: [
            ScriptedTransport.Answer.status(200), .status(302), .status(400), .status(401), .status(404), .status(501),
            .failure(ExperimentationError(.configuration, "x")), .failure(ExperimentationError(.tooLarge, "x")),
            .failure(ExperimentationError(.cancelled, "x")), .failure(ExperimentationError(.invalidArgument, "x")),
        ]
    )
    func once(answer: ScriptedTransport.Answer) async {
        let transport = ScriptedTransport([answer, .status(200)])
        _ = try? await client(transport, jitter: 0).send(request)
        #expect(transport.requests.count == 1)
    }

    @Test("a delivery is tried once by default")
    func onceByDefault() async throws {
        let transport = ScriptedTransport([.status(503), .status(200)])
        #expect(try await HTTPClient(transport: transport).send(request).status == 503)
        #expect(transport.requests.count == 1)
    }

    @Test("a cancelled wait ends the call")
    func cancelled() async {
        let transport = ScriptedTransport([.status(503), .status(200)])
        let client = client(transport)
        let task = Task { [request] () -> ErrorCode? in
            do throws(ExperimentationError) {
                _ = try await client.send(request)
                return nil
            } catch { return error.code }
        }
        await time.waitForSleepers(1)
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(transport.requests.count == 1)
    }

    @Test("an invalid request is rejected before it reaches the transport")
    func validates() async {
        let transport = ScriptedTransport([.status(200)])
        let unsound = HTTPRequest(method: .get, scheme: "http", authority: "example.com", path: "/")
        let error = await #expect(throws: ExperimentationError.self) { try await client(transport).send(unsound) }
        #expect(error?.code == .configuration)
        #expect(transport.requests.isEmpty)
    }
}
