import ArgumentParser
import Yams

@main struct XP: AsyncParsableCommand { func run() async throws {} }
