import AdapterKit
import BenchmarkHarness
import EvergageAdapter
import Experimentation
import Foundation

/// The memory left behind by a thousand screens that appeared, waited for campaigns and disappeared.
@MainActor
enum Remains {
    static func measure(_ table: inout Table) async {
        let evergage = Evergage(store: .inMemory(), anonymousID: "anonymous", sendsLifecycleEvents: false)
        evergage.start(
            try EvergageConfiguration(
                account: "acme",
                dataset: "engage",
                endpoint: Endpoint("http://127.0.0.1:1"),
                pace: nil
            )
        )
        await evergage.flush(within: .milliseconds(100))
        await visit(evergage, screens: 20)
        let (before, resident) = (liveBytes(), residentBytes())
        await visit(evergage, screens: 1_000)
        table.add("a thousand contexts leave", Double(liveBytes() - before) / 1e6, atMost: 1, unit: "MB")
        table.add("growth of the process meanwhile", (residentBytes() - resident) / 1e6, unit: "MB")
        evergage.reset()
    }

    private static func visit(_ evergage: Evergage, screens: Int) async {
        for number in 0..<screens {
            guard let screen = evergage.makeScreen(name: "Screen \(number)") else { return }
            for target in ["banner", "hero", "footer"] {
                screen.setCampaignHandler(forTarget: target) { campaign in consume((number, campaign)) }
            }
            screen.didAppear()
            // Half of the screens disappear without a call.
            if number.isMultiple(of: 2) { screen.willDisappear() }
            // One screen at a time, yielding the main actor in between.
            await Task.yield()
        }
        // A context's end is processed on the main actor a little later.
        for _ in 0..<20 { try? await Task.sleep(for: .milliseconds(10)) }
    }

    private static func residentBytes() -> Double {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
            let pages = Double(text.split(separator: " ")[1])
        else { return 0 }
        return pages * 4_096
    }
}
