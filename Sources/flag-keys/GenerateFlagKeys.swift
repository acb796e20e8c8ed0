import Experimentation
import FlagManifest
import Foundation

/// The plug-in's tool: `flag-keys MANIFEST OUTPUT` writes the keys of a manifest as Swift.
///
/// Writes the output only if it differs, so that an unchanged manifest causes no recompilation.
@main
enum GenerateFlagKeys {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let input = arguments.first, let output = arguments.last else {
            return fail("usage: flag-keys MANIFEST OUTPUT")
        }
        guard let json = FileManager.default.contents(atPath: input) else { return fail("\(input): can't be read") }
        let source: String
        do throws(ExperimentationError) {
            let manifest = try FlagManifest(json: Array(json), file: input)
            source = try FlagKeySource.text(of: manifest, file: URL(filePath: input).lastPathComponent)
        } catch {
            // In a compiler's format, so that editors can jump to the line.
            return fail(error.message)
        }
        let text = Data(source.utf8)
        guard FileManager.default.contents(atPath: output) != text else { return }
        do {
            try text.write(to: URL(filePath: output), options: .atomic)
        } catch {
            fail("\(output): can't be written")
        }
    }

    private static func fail(_ message: String) {
        try? FileHandle.standardError.write(contentsOf: Data((message + "\n").utf8))
        exit(1)
    }
}
